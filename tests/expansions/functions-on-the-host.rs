// pipeline Through {
//     param factor: f32;
//     param told: Sender<usize>;
//     input x: [f32];
//     output y: [f32];
//     host h: [f32];
//     chunk c = auto;
//     stage load { copy x -> dx; }
//     stage fft { call fft::forward(c.len, &mut dx); copy dx -> h; }
//     stage cpu { host window(c.start, 2.0 * factor, &mut h); }
//     stage store { copy h -> dy; copy dy -> y; then |c| told.send(c.index); }
// }

/// For each chunk, in this order:
///
/// | stage | stream | operation | waits for |
/// | --- | --- | --- | --- |
/// | load | load | `copy x -> dx` | `fft_done` of the chunk that used the slot before |
/// | fft | fft | `call fft::forward` | `load_done` |
/// | fft | fft | `copy dx -> h` | `store_dy_done` of the chunk that used the slot before |
/// | cpu | cpu | `host window` | `fft_done` |
/// | store | store | `copy h -> dy` | `cpu_done` |
/// | store | store | `copy dy -> y` |  |
/// | store | store | `then` |  |
///
/// Its first 5 chunks in a ring of 3, if each stage took as long:
///
/// ```text
/// load  L0 L1 L2 L3 L4
/// fft      F0 F1 F2 F3 F4
/// cpu         C0 C1 C2 C3 C4
/// store          S0 S1 S2 S3 S4
/// ```
///
/// L `load`, F `fft`, C `cpu`, S `store`; then the number of the chunk.
#[derive(::core::fmt::Debug)]
struct Through {
    pipeline: ::thalweg::__private::Its<Self, ::thalweg::__private::Pipelines>,
}
impl Through {
    /// Builds the pipeline, as it is declared, on a device or on several that share its runs.
    ///
    /// # Errors
    /// Those of `Options::build`.
    pub fn new(
        devices: &(impl ::thalweg::Devices + ?::core::marker::Sized),
    ) -> ::thalweg::Result<Self> {
        Self::options(devices).build()
    }
    /// Options to build the pipeline with another chunk or depth than it declares.
    pub fn options(
        devices: &(impl ::thalweg::Devices + ?::core::marker::Sized),
    ) -> ::thalweg::Options<Self> {
        ::thalweg::Options::new(devices)
    }
    /// Runs the pipeline over all items and waits until the results are in place. It is not a future: in
    /// async code, `spawn` returns one.
    ///
    /// # Errors
    /// The arguments' lengths do not fit; memory does not suffice; an operation cannot be enqueued or
    /// fails on the device. The error says where, and how much of each output is complete.
    #[track_caller]
    pub fn run<'run>(
        &mut self,
        factor: f32,
        told: Sender<usize>,
        x: impl ::thalweg::Input<'run, f32>,
        y: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Report>
    where
        Sender<usize>: ::core::marker::Sync,
    {
        let done = self.__chunks(::thalweg::__private::Purpose::Run, factor, told, x, y);
        done.map(|timeline| timeline.report)
    }
    /// Runs the pipeline as `run` does, and says when each operation began and ended.
    ///
    /// # Errors
    /// Those of `run`.
    #[track_caller]
    pub fn profile<'run>(
        &mut self,
        factor: f32,
        told: Sender<usize>,
        x: impl ::thalweg::Input<'run, f32>,
        y: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Timeline>
    where
        Sender<usize>: ::core::marker::Sync,
    {
        self.__chunks(::thalweg::__private::Purpose::Profile, factor, told, x, y)
            .map(|timeline| *timeline)
    }
    /// Works out when each operation of such a run would begin and end. Nothing is copied or computed,
    /// and the arguments stay as they are.
    ///
    /// # Errors
    /// Those of `run` about the arguments, the memory and the requirements of launches.
    #[track_caller]
    pub fn predict<'run>(
        &mut self,
        factor: f32,
        told: Sender<usize>,
        x: impl ::thalweg::Input<'run, f32>,
        y: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Timeline>
    where
        Sender<usize>: ::core::marker::Sync,
    {
        self.__chunks(::thalweg::__private::Purpose::Predict, factor, told, x, y)
            .map(|timeline| *timeline)
    }
    #[track_caller]
    fn __chunks<'run>(
        &mut self,
        purpose: ::thalweg::__private::Purpose,
        factor: f32,
        told: Sender<usize>,
        x: impl ::thalweg::Input<'run, f32>,
        y: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::std::boxed::Box<::thalweg::Timeline>>
    where
        Sender<usize>: ::core::marker::Sync,
    {
        let Self { pipeline } = self;
        let mut call = ::thalweg::__private::Its::of_mut(pipeline).call(purpose);
        let x = call.input::<f32>(1, x)?;
        let y = call.output::<f32>(1, y)?;
        let h = call.host_scratch::<f32>(1)?;
        let dx = call.device::<f32>(1)?;
        let dy = call.device::<f32>(1)?;
        call.run(
            ::thalweg::__private::ChunkSize::Auto,
            |run| {
                let [load, fft, cpu, store] = run.streams();
                let [load_done, fft_done, cpu_done, store_dy_done] = run.events();
                for c in run.chunks() {
                    'load: {
                        let copy_x = &run.on(load, 0, c);
                        copy_x.wait_reuse(fft_done)?;
                        copy_x.upload(x, dx)?;
                        copy_x.record(load_done)?;
                    }
                    'fft: {
                        let call_forward = &run.on(fft, 1, c);
                        call_forward.wait(load_done)?;
                        if call_forward.calls()? {
                            call_forward
                                .call(
                                    ::thalweg::__private::routine(
                                        &fft::forward,
                                    )(
                                        &call_forward.enqueue(),
                                        c.len,
                                        call_forward.read_write(dx),
                                    ),
                                )?;
                        }
                        let copy_dx = &run.on(fft, 2, c);
                        copy_dx.wait_reuse(store_dy_done)?;
                        copy_dx.copy(dx, h)?;
                        copy_dx.record(fft_done)?;
                    }
                    'cpu: {
                        let host_window = &run.on(cpu, 3, c);
                        host_window.wait(fft_done)?;
                        {
                            let value_0 = ::thalweg::__private::host_value(c.start);
                            let value_1 = ::thalweg::__private::host_value(2.0 * factor);
                            host_window
                                .host(
                                    (host_window.host_read_write(h),),
                                    move |(h,)| window(value_0, value_1, h),
                                )?;
                        }
                        host_window.record(cpu_done)?;
                    }
                    'store: {
                        let copy_h = &run.on(store, 4, c);
                        copy_h.wait(cpu_done)?;
                        copy_h.copy(h, dy)?;
                        copy_h.record(store_dy_done)?;
                        let copy_dy = &run.on(store, 5, c);
                        copy_dy.download(dy, y)?;
                        let then = &run.on(store, 6, c);
                        {
                            let told = ::core::clone::Clone::clone(&told);
                            then.then(move |c| told.send(c.index))?;
                        }
                    }
                }
                ::core::result::Result::Ok(())
            },
        )
    }
}
impl ::thalweg::__private::Build for Through {
    fn build(settings: ::thalweg::__private::Settings<'_>) -> ::thalweg::Result<Self> {
        let pipeline = ::thalweg::__private::Pipelines::with_auto_depth(
            settings,
            &Self::PLAN,
        )?;
        let mut built = Self {
            pipeline: ::thalweg::__private::Its::new(pipeline),
        };
        ::thalweg::__private::Its::of_mut(&mut built.pipeline)
            .reserve(
                ::thalweg::__private::ChunkSize::Auto,
                &[
                    ::thalweg::__private::Size::of::<f32>(1),
                    ::thalweg::__private::Size::of::<f32>(1),
                ],
                &[
                    ::thalweg::__private::Size::of::<f32>(1),
                    ::thalweg::__private::Size::of::<f32>(1),
                    ::thalweg::__private::Size::of::<f32>(1),
                ],
            )?;
        ::core::result::Result::Ok(built)
    }
}
impl Through {
    /// The streams, operations and events of this pipeline.
    pub const PLAN: ::thalweg::Plan = ::thalweg::__private::Plan::new(
        "Through",
        ::core::file!(),
        2,
        18,
        &[
            ::thalweg::__private::StreamPlan::new(
                "load",
                ::thalweg::__private::Priority::Default,
                false,
                false,
                false,
            ),
            ::thalweg::__private::StreamPlan::new(
                "fft",
                ::thalweg::__private::Priority::Default,
                false,
                false,
                false,
            ),
            ::thalweg::__private::StreamPlan::new(
                "cpu",
                ::thalweg::__private::Priority::Default,
                false,
                false,
                false,
            ),
            ::thalweg::__private::StreamPlan::new(
                "store",
                ::thalweg::__private::Priority::Default,
                false,
                false,
                false,
            ),
        ],
        &["load", "fft", "cpu", "store"],
        &[
            ::thalweg::__private::HostPlan::new("x", true, false, false, 5, 19),
            ::thalweg::__private::HostPlan::new("y", false, true, false, 6, 20),
        ],
        &[
            ::thalweg::__private::BufferPlan::new(
                "h",
                ::thalweg::__private::BufferKind::HostScratch,
                7,
                18,
            ),
            ::thalweg::__private::BufferPlan::new(
                "dx",
                ::thalweg::__private::BufferKind::Ring,
                9,
                36,
            ),
            ::thalweg::__private::BufferPlan::new(
                "dy",
                ::thalweg::__private::BufferKind::Ring,
                12,
                37,
            ),
        ],
        &[
            ::thalweg::__private::OperationPlan::new(
                0,
                0,
                "copy x -> dx",
                ::thalweg::__private::OperationKind::Upload {
                    host: 0,
                    buffer: 1,
                },
                false,
                ::core::option::Option::None,
                &[
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Host(0),
                        true,
                        false,
                    ),
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(1),
                        false,
                        true,
                    ),
                ],
                9,
                26,
            ),
            ::thalweg::__private::OperationPlan::new(
                1,
                1,
                "call fft::forward",
                ::thalweg::__private::OperationKind::Call {
                    routine: "fft::forward",
                },
                false,
                ::core::option::Option::None,
                &[
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(1),
                        true,
                        true,
                    ),
                ],
                10,
                25,
            ),
            ::thalweg::__private::OperationPlan::new(
                1,
                1,
                "copy dx -> h",
                ::thalweg::__private::OperationKind::CopyToScratch {
                    from: 1,
                    to: 0,
                },
                false,
                ::core::option::Option::None,
                &[
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(1),
                        true,
                        false,
                    ),
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(0),
                        false,
                        true,
                    ),
                ],
                10,
                60,
            ),
            ::thalweg::__private::OperationPlan::new(
                2,
                2,
                "host window",
                ::thalweg::__private::OperationKind::Host {
                    function: "window",
                },
                false,
                ::core::option::Option::None,
                &[
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(0),
                        true,
                        true,
                    ),
                ],
                11,
                25,
            ),
            ::thalweg::__private::OperationPlan::new(
                3,
                3,
                "copy h -> dy",
                ::thalweg::__private::OperationKind::CopyFromScratch {
                    from: 0,
                    to: 2,
                },
                false,
                ::core::option::Option::None,
                &[
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(0),
                        true,
                        false,
                    ),
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(2),
                        false,
                        true,
                    ),
                ],
                12,
                27,
            ),
            ::thalweg::__private::OperationPlan::new(
                3,
                3,
                "copy dy -> y",
                ::thalweg::__private::OperationKind::Download {
                    host: 1,
                    buffer: 2,
                },
                false,
                ::core::option::Option::None,
                &[
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Host(1),
                        false,
                        true,
                    ),
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(2),
                        true,
                        false,
                    ),
                ],
                12,
                41,
            ),
            ::thalweg::__private::OperationPlan::new(
                3,
                3,
                "then",
                ::thalweg::__private::OperationKind::Then,
                false,
                ::core::option::Option::None,
                &[],
                12,
                55,
            ),
        ],
        &[
            ::thalweg::__private::EventPlan::new("load_done", 0),
            ::thalweg::__private::EventPlan::new("fft_done", 2),
            ::thalweg::__private::EventPlan::new("cpu_done", 3),
            ::thalweg::__private::EventPlan::new("store_dy_done", 4),
        ],
        &[
            ::thalweg::__private::WaitPlan::new(
                1,
                0,
                ::thalweg::__private::Distance::Same,
                &[
                    ::thalweg::__private::HazardPlan::new(
                        "dx",
                        ::thalweg::__private::Hazard::ReadAfterWrite,
                    ),
                    ::thalweg::__private::HazardPlan::new(
                        "dx",
                        ::thalweg::__private::Hazard::WriteAfterWrite,
                    ),
                ],
            ),
            ::thalweg::__private::WaitPlan::new(
                3,
                1,
                ::thalweg::__private::Distance::Same,
                &[
                    ::thalweg::__private::HazardPlan::new(
                        "h",
                        ::thalweg::__private::Hazard::ReadAfterWrite,
                    ),
                    ::thalweg::__private::HazardPlan::new(
                        "h",
                        ::thalweg::__private::Hazard::WriteAfterWrite,
                    ),
                ],
            ),
            ::thalweg::__private::WaitPlan::new(
                0,
                1,
                ::thalweg::__private::Distance::Reuse,
                &[
                    ::thalweg::__private::HazardPlan::new(
                        "dx",
                        ::thalweg::__private::Hazard::WriteAfterRead,
                    ),
                ],
            ),
            ::thalweg::__private::WaitPlan::new(
                4,
                2,
                ::thalweg::__private::Distance::Same,
                &[
                    ::thalweg::__private::HazardPlan::new(
                        "h",
                        ::thalweg::__private::Hazard::ReadAfterWrite,
                    ),
                ],
            ),
            ::thalweg::__private::WaitPlan::new(
                2,
                3,
                ::thalweg::__private::Distance::Reuse,
                &[
                    ::thalweg::__private::HazardPlan::new(
                        "h",
                        ::thalweg::__private::Hazard::WriteAfterRead,
                    ),
                ],
            ),
        ],
    );
}
