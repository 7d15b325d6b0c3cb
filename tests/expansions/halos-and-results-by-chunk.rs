// pipeline Blur {
//     param radius: usize;
//     input x: [f32] halo radius = clamp;
//     output y: mapped [f32];
//     output s: [f32; 2] per chunk;
//     device sums: [f32; 2] per chunk;
//     chunk c = 4096;
//     stage load { copy x -> dx; }
//     stage blur { blur<<<blocks(c.len, 256), 256>>>(c.len as u32, radius as u32, &dx, out y); }
//     stage sum { sum<<<1, 256>>>(c.len as u32, &y, out sums); }
//     stage store { copy sums -> s; }
// }

/// For each chunk, in this order:
///
/// | stage | stream | operation | waits for |
/// | --- | --- | --- | --- |
/// | load | load | `copy x -> dx` | `blur_done` of the chunk that used the slot before |
/// | blur | blur | `blur<<<..>>>` | `load_done` |
/// | sum | sum | `sum<<<..>>>` | `blur_done`, `store_done` of the chunk that used the slot before |
/// | store | store | `copy sums -> s` | `sum_done` |
///
/// Its first 5 chunks in a ring of 3, if each stage took as long:
///
/// ```text
/// load  L0 L1 L2 L3 L4
/// blur     B0 B1 B2 B3 B4
/// sum         S0 S1 S2 S3 S4
/// store          T0 T1 T2 T3 T4
/// ```
///
/// L `load`, B `blur`, S `sum`, T `store`; then the number of the chunk.
#[derive(::core::fmt::Debug)]
struct Blur {
    pipeline: ::thalweg::__private::Its<Self, ::thalweg::__private::Pipelines>,
    blur_2: ::thalweg::__private::OnEach<blur>,
    sum_2: ::thalweg::__private::OnEach<sum>,
}
impl Blur {
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
        radius: usize,
        x: impl ::thalweg::Input<'run, f32>,
        y: impl ::thalweg::memory::MappedOutput<'run, f32>,
        s: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Report> {
        let done = self.__chunks(::thalweg::__private::Purpose::Run, radius, x, y, s);
        done.map(|timeline| timeline.report)
    }
    /// Runs the pipeline as `run` does, and says when each operation began and ended.
    ///
    /// # Errors
    /// Those of `run`.
    #[track_caller]
    pub fn profile<'run>(
        &mut self,
        radius: usize,
        x: impl ::thalweg::Input<'run, f32>,
        y: impl ::thalweg::memory::MappedOutput<'run, f32>,
        s: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        self.__chunks(::thalweg::__private::Purpose::Profile, radius, x, y, s)
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
        radius: usize,
        x: impl ::thalweg::Input<'run, f32>,
        y: impl ::thalweg::memory::MappedOutput<'run, f32>,
        s: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        self.__chunks(::thalweg::__private::Purpose::Predict, radius, x, y, s)
            .map(|timeline| *timeline)
    }
    #[track_caller]
    fn __chunks<'run>(
        &mut self,
        purpose: ::thalweg::__private::Purpose,
        radius: usize,
        x: impl ::thalweg::Input<'run, f32>,
        y: impl ::thalweg::memory::MappedOutput<'run, f32>,
        s: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::std::boxed::Box<::thalweg::Timeline>> {
        let Self { pipeline, blur_2, sum_2 } = self;
        let mut call = ::thalweg::__private::Its::of_mut(pipeline).call(purpose);
        let x = call.halo(radius, ::thalweg::__private::Edge::Clamp).input::<f32>(1, x)?;
        let s = call.per_chunk().output::<f32>(2, s)?;
        let y = call.mapped_output::<f32>(1, y)?;
        let sums = call.per_chunk().device::<f32>(2)?;
        let dx = call.halo(radius, ::thalweg::__private::Edge::Clamp).device::<f32>(1)?;
        (&mut call)
            .repeats([
                ::thalweg::__private::word(&radius),
                ::thalweg::__private::is_blocks(
                    &blocks,
                    |function, c| function(c.len, 256),
                ),
            ]);
        call.run(
            ::thalweg::__private::ChunkSize::Items(4096),
            |run| {
                let blur_2 = (&*blur_2).of(run);
                let sum_2 = (&*sum_2).of(run);
                let [load, blur, sum, store] = run.streams();
                let [load_done, blur_done, sum_done, store_done] = run.events();
                for c in run.chunks() {
                    'load: {
                        let copy_x = &run.on(load, 0, c);
                        copy_x.wait_reuse(blur_done)?;
                        copy_x.upload(x, dx)?;
                        copy_x.record(load_done)?;
                    }
                    'blur: {
                        let launch_blur = &run.on(blur, 1, c);
                        launch_blur.wait(load_done)?;
                        blur_2
                            .launch(
                                launch_blur.config(blocks(c.len, 256), 256, 0),
                                c.len as u32,
                                radius as u32,
                                launch_blur.read(dx),
                                launch_blur.write(y),
                            )?;
                        launch_blur.record(blur_done)?;
                    }
                    'sum: {
                        let launch_sum = &run.on(sum, 2, c);
                        launch_sum.wait(blur_done)?;
                        launch_sum.wait_reuse(store_done)?;
                        sum_2
                            .launch(
                                launch_sum.config(1, 256, 0),
                                c.len as u32,
                                launch_sum.read(y),
                                launch_sum.write(sums),
                            )?;
                        launch_sum.record(sum_done)?;
                    }
                    'store: {
                        let copy_sums = &run.on(store, 3, c);
                        copy_sums.wait(sum_done)?;
                        copy_sums.download(sums, s)?;
                        copy_sums.record(store_done)?;
                    }
                }
                ::core::result::Result::Ok(())
            },
        )
    }
}
impl ::thalweg::__private::Build for Blur {
    fn build(settings: ::thalweg::__private::Settings<'_>) -> ::thalweg::Result<Self> {
        let pipeline = ::thalweg::__private::Pipelines::with_auto_depth(
            settings,
            &Self::PLAN,
        )?;
        let built = Self {
            blur_2: pipeline.load(1)?,
            sum_2: pipeline.load(2)?,
            pipeline: ::thalweg::__private::Its::new(pipeline),
        };
        ::core::result::Result::Ok(built)
    }
}
impl Blur {
    /// The streams, operations and events of this pipeline.
    pub const PLAN: ::thalweg::Plan = ::thalweg::__private::Plan::new(
        "Blur",
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
                "blur",
                ::thalweg::__private::Priority::Default,
                true,
                false,
                true,
            ),
            ::thalweg::__private::StreamPlan::new(
                "sum",
                ::thalweg::__private::Priority::Default,
                true,
                false,
                true,
            ),
            ::thalweg::__private::StreamPlan::new(
                "store",
                ::thalweg::__private::Priority::Default,
                false,
                false,
                false,
            ),
        ],
        &["load", "blur", "sum", "store"],
        &[
            ::thalweg::__private::HostPlan::new("x", true, false, true, 4, 19),
            ::thalweg::__private::HostPlan::new("s", false, true, false, 6, 20),
        ],
        &[
            ::thalweg::__private::BufferPlan::new(
                "y",
                ::thalweg::__private::BufferKind::InPlace {
                    mapped: true,
                    reads: false,
                    writes: true,
                },
                5,
                20,
            ),
            ::thalweg::__private::BufferPlan::new(
                "sums",
                ::thalweg::__private::BufferKind::Ring,
                7,
                20,
            ),
            ::thalweg::__private::BufferPlan::new(
                "dx",
                ::thalweg::__private::BufferKind::Ring,
                9,
                36,
            ),
        ],
        &[
            ::thalweg::__private::OperationPlan::new(
                0,
                0,
                "copy x -> dx",
                ::thalweg::__private::OperationKind::Upload {
                    host: 0,
                    buffer: 2,
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
                        ::thalweg::__private::Memory::Buffer(2),
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
                "blur<<<..>>>",
                ::thalweg::__private::OperationKind::Launch {
                    kernel: "blur",
                },
                false,
                ::core::option::Option::None,
                &[
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(2),
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
                26,
            ),
            ::thalweg::__private::OperationPlan::new(
                2,
                2,
                "sum<<<..>>>",
                ::thalweg::__private::OperationKind::Launch {
                    kernel: "sum",
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
                11,
                25,
            ),
            ::thalweg::__private::OperationPlan::new(
                3,
                3,
                "copy sums -> s",
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
                12,
                27,
            ),
        ],
        &[
            ::thalweg::__private::EventPlan::new("load_done", 0),
            ::thalweg::__private::EventPlan::new("blur_done", 1),
            ::thalweg::__private::EventPlan::new("sum_done", 2),
            ::thalweg::__private::EventPlan::new("store_done", 3),
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
                2,
                1,
                ::thalweg::__private::Distance::Same,
                &[
                    ::thalweg::__private::HazardPlan::new(
                        "y",
                        ::thalweg::__private::Hazard::ReadAfterWrite,
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
                3,
                2,
                ::thalweg::__private::Distance::Same,
                &[
                    ::thalweg::__private::HazardPlan::new(
                        "sums",
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
                        "sums",
                        ::thalweg::__private::Hazard::WriteAfterRead,
                    ),
                ],
            ),
        ],
    );
}
