// pipeline Keep {
//     input x: [f32];
//     output first: [f32];
//     output second: [f32];
//     chunk c = auto;
//     stage load { copy x -> dx; }
//     stage keep { copy dx -> kept; scale<<<blocks(c.len, 256), 256>>>(2.0, &mut dx); }
//     stage store { copy kept -> first; copy dx -> second; }
// }

/// For each chunk, in this order:
///
/// | stage | stream | operation | waits for |
/// | --- | --- | --- | --- |
/// | load | load | `copy x -> dx` | `store_done` of the chunk that used the slot before |
/// | keep | keep | `copy dx -> kept` | `load_done` |
/// | keep | keep | `scale<<<..>>>` |  |
/// | store | store | `copy kept -> first` | `keep_kept_done` |
/// | store | store | `copy dx -> second` | `keep_done` |
///
/// Its first 5 chunks in a ring of 3, if each stage took as long:
///
/// ```text
/// load  L0 L1 L2 L3 L4
/// keep     K0 K1 K2 K3 K4
/// store       S0 S1 S2 S3 S4
/// ```
///
/// L `load`, K `keep`, S `store`; then the number of the chunk.
#[derive(::core::fmt::Debug)]
struct Keep {
    pipeline: ::thalweg::__private::Its<Self, ::thalweg::__private::Pipelines>,
    scale: ::thalweg::__private::OnEach<scale>,
}
impl Keep {
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
        x: impl ::thalweg::Input<'run, f32>,
        first: impl ::thalweg::Output<'run, f32>,
        second: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Report> {
        let done = self.__chunks(::thalweg::__private::Purpose::Run, x, first, second);
        done.map(|timeline| timeline.report)
    }
    /// Runs the pipeline as `run` does, and says when each operation began and ended.
    ///
    /// # Errors
    /// Those of `run`.
    #[track_caller]
    pub fn profile<'run>(
        &mut self,
        x: impl ::thalweg::Input<'run, f32>,
        first: impl ::thalweg::Output<'run, f32>,
        second: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        self.__chunks(::thalweg::__private::Purpose::Profile, x, first, second)
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
        x: impl ::thalweg::Input<'run, f32>,
        first: impl ::thalweg::Output<'run, f32>,
        second: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        self.__chunks(::thalweg::__private::Purpose::Predict, x, first, second)
            .map(|timeline| *timeline)
    }
    #[track_caller]
    fn __chunks<'run>(
        &mut self,
        purpose: ::thalweg::__private::Purpose,
        x: impl ::thalweg::Input<'run, f32>,
        first: impl ::thalweg::Output<'run, f32>,
        second: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::std::boxed::Box<::thalweg::Timeline>> {
        let Self { pipeline, scale } = self;
        let mut call = ::thalweg::__private::Its::of_mut(pipeline).call(purpose);
        let x = call.input::<f32>(1, x)?;
        let first = call.output::<f32>(1, first)?;
        let second = call.output::<f32>(1, second)?;
        let dx = call.device::<f32>(1)?;
        let kept = call.device::<f32>(1)?;
        (&mut call)
            .repeats([
                ::thalweg::__private::is_blocks(
                    &blocks,
                    |function, c| function(c.len, 256),
                ),
            ]);
        call.run(
            ::thalweg::__private::ChunkSize::Auto,
            |run| {
                let scale = (&*scale).of(run);
                let [load, keep, store] = run.streams();
                let [load_done, keep_kept_done, keep_done, store_done] = run.events();
                for c in run.chunks() {
                    'load: {
                        let copy_x = &run.on(load, 0, c);
                        copy_x.wait_reuse(store_done)?;
                        copy_x.upload(x, dx)?;
                        copy_x.record(load_done)?;
                    }
                    'keep: {
                        let copy_dx = &run.on(keep, 1, c);
                        copy_dx.wait(load_done)?;
                        copy_dx.copy(dx, kept)?;
                        copy_dx.record(keep_kept_done)?;
                        let launch_scale = &run.on(keep, 2, c);
                        scale
                            .launch(
                                launch_scale.config(blocks(c.len, 256), 256, 0),
                                2.0,
                                launch_scale.read_write(dx),
                            )?;
                        launch_scale.record(keep_done)?;
                    }
                    'store: {
                        let copy_kept = &run.on(store, 3, c);
                        copy_kept.wait(keep_kept_done)?;
                        copy_kept.download(kept, first)?;
                        let copy_dx = &run.on(store, 4, c);
                        copy_dx.wait(keep_done)?;
                        copy_dx.download(dx, second)?;
                        copy_dx.record(store_done)?;
                    }
                }
                ::core::result::Result::Ok(())
            },
        )
    }
}
impl ::thalweg::__private::Build for Keep {
    fn build(settings: ::thalweg::__private::Settings<'_>) -> ::thalweg::Result<Self> {
        let pipeline = ::thalweg::__private::Pipelines::with_auto_depth(
            settings,
            &Self::PLAN,
        )?;
        let mut built = Self {
            scale: pipeline.load(2)?,
            pipeline: ::thalweg::__private::Its::new(pipeline),
        };
        ::thalweg::__private::Its::of_mut(&mut built.pipeline)
            .reserve(
                ::thalweg::__private::ChunkSize::Auto,
                &[
                    ::thalweg::__private::Size::of::<f32>(1),
                    ::thalweg::__private::Size::of::<f32>(1),
                    ::thalweg::__private::Size::of::<f32>(1),
                ],
                &[
                    ::thalweg::__private::Size::of::<f32>(1),
                    ::thalweg::__private::Size::of::<f32>(1),
                ],
            )?;
        ::core::result::Result::Ok(built)
    }
}
impl Keep {
    /// The streams, operations and events of this pipeline.
    pub const PLAN: ::thalweg::Plan = ::thalweg::__private::Plan::new(
        "Keep",
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
                "keep",
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
        &["load", "keep", "store"],
        &[
            ::thalweg::__private::HostPlan::new("x", true, false, false, 3, 19),
            ::thalweg::__private::HostPlan::new("first", false, true, false, 4, 20),
            ::thalweg::__private::HostPlan::new("second", false, true, false, 5, 20),
        ],
        &[
            ::thalweg::__private::BufferPlan::new(
                "dx",
                ::thalweg::__private::BufferKind::Ring,
                7,
                36,
            ),
            ::thalweg::__private::BufferPlan::new(
                "kept",
                ::thalweg::__private::BufferKind::Ring,
                8,
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
                    buffer: 0,
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
                        ::thalweg::__private::Memory::Buffer(0),
                        false,
                        true,
                    ),
                ],
                7,
                26,
            ),
            ::thalweg::__private::OperationPlan::new(
                1,
                1,
                "copy dx -> kept",
                ::thalweg::__private::OperationKind::CopyOnDevice {
                    from: 0,
                    to: 1,
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
                        ::thalweg::__private::Memory::Buffer(1),
                        false,
                        true,
                    ),
                ],
                8,
                26,
            ),
            ::thalweg::__private::OperationPlan::new(
                1,
                1,
                "scale<<<..>>>",
                ::thalweg::__private::OperationKind::Launch {
                    kernel: "scale",
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
                8,
                43,
            ),
            ::thalweg::__private::OperationPlan::new(
                2,
                2,
                "copy kept -> first",
                ::thalweg::__private::OperationKind::Download {
                    host: 1,
                    buffer: 1,
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
                        ::thalweg::__private::Memory::Buffer(1),
                        true,
                        false,
                    ),
                ],
                9,
                27,
            ),
            ::thalweg::__private::OperationPlan::new(
                2,
                2,
                "copy dx -> second",
                ::thalweg::__private::OperationKind::Download {
                    host: 2,
                    buffer: 0,
                },
                false,
                ::core::option::Option::None,
                &[
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Host(2),
                        false,
                        true,
                    ),
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(0),
                        true,
                        false,
                    ),
                ],
                9,
                47,
            ),
        ],
        &[
            ::thalweg::__private::EventPlan::new("load_done", 0),
            ::thalweg::__private::EventPlan::new("keep_kept_done", 1),
            ::thalweg::__private::EventPlan::new("keep_done", 2),
            ::thalweg::__private::EventPlan::new("store_done", 4),
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
                ],
            ),
            ::thalweg::__private::WaitPlan::new(
                3,
                1,
                ::thalweg::__private::Distance::Same,
                &[
                    ::thalweg::__private::HazardPlan::new(
                        "kept",
                        ::thalweg::__private::Hazard::ReadAfterWrite,
                    ),
                ],
            ),
            ::thalweg::__private::WaitPlan::new(
                4,
                2,
                ::thalweg::__private::Distance::Same,
                &[
                    ::thalweg::__private::HazardPlan::new(
                        "dx",
                        ::thalweg::__private::Hazard::ReadAfterWrite,
                    ),
                ],
            ),
            ::thalweg::__private::WaitPlan::new(
                0,
                3,
                ::thalweg::__private::Distance::Reuse,
                &[
                    ::thalweg::__private::HazardPlan::new(
                        "dx",
                        ::thalweg::__private::Hazard::WriteAfterRead,
                    ),
                ],
            ),
        ],
    );
}
