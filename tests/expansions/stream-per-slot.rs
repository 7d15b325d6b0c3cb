// pipeline Saxpy {
//     param a: f32;
//     input x: [f32];
//     inout y: [f32];
//     chunk c = auto;
//     depth = 4;
//     stream s per slot;
//     stage load on s { copy x -> dx; copy y -> dy; }
//     stage axpy on s { saxpy<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &dx, &mut dy); }
//     stage store on s { copy dy -> y; }
// }

/// For each chunk, in this order:
///
/// | stage | stream | operation | waits for |
/// | --- | --- | --- | --- |
/// | load | s | `copy x -> dx` |  |
/// | load | s | `copy y -> dy` |  |
/// | axpy | s | `saxpy<<<..>>>` |  |
/// | store | s | `copy dy -> y` |  |
///
/// Its first 6 chunks in a ring of 4, if each stage took as long:
///
/// ```text
/// s 0 L0 A0 S0 L4 A4 S4
/// s 1 L1 A1 S1 L5 A5 S5
/// s 2 L2 A2 S2
/// s 3 L3 A3 S3
/// ```
///
/// L `load`, A `axpy`, S `store`; then the number of the chunk.
#[derive(::core::fmt::Debug)]
struct Saxpy {
    pipeline: ::thalweg::__private::Its<Self, ::thalweg::__private::Pipelines>,
    saxpy: ::thalweg::__private::OnEach<saxpy>,
}
impl Saxpy {
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
        a: f32,
        x: impl ::thalweg::Input<'run, f32>,
        y: impl ::thalweg::InOut<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Report> {
        let done = self.__chunks(::thalweg::__private::Purpose::Run, a, x, y);
        done.map(|timeline| timeline.report)
    }
    /// Runs the pipeline as `run` does, and says when each operation began and ended.
    ///
    /// # Errors
    /// Those of `run`.
    #[track_caller]
    pub fn profile<'run>(
        &mut self,
        a: f32,
        x: impl ::thalweg::Input<'run, f32>,
        y: impl ::thalweg::InOut<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        self.__chunks(::thalweg::__private::Purpose::Profile, a, x, y)
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
        a: f32,
        x: impl ::thalweg::Input<'run, f32>,
        y: impl ::thalweg::InOut<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        self.__chunks(::thalweg::__private::Purpose::Predict, a, x, y)
            .map(|timeline| *timeline)
    }
    #[track_caller]
    fn __chunks<'run>(
        &mut self,
        purpose: ::thalweg::__private::Purpose,
        a: f32,
        x: impl ::thalweg::Input<'run, f32>,
        y: impl ::thalweg::InOut<'run, f32>,
    ) -> ::thalweg::Result<::std::boxed::Box<::thalweg::Timeline>> {
        let Self { pipeline, saxpy } = self;
        let mut call = ::thalweg::__private::Its::of_mut(pipeline).call(purpose);
        let x = call.input::<f32>(1, x)?;
        let y = call.inout::<f32>(1, y)?;
        let dx = call.device::<f32>(1)?;
        let dy = call.device::<f32>(1)?;
        (&mut call)
            .repeats([
                ::thalweg::__private::word(&a),
                ::thalweg::__private::is_blocks(
                    &blocks,
                    |function, c| function(c.len, 256),
                ),
            ]);
        call.run(
            ::thalweg::__private::ChunkSize::Auto,
            |run| {
                let saxpy = (&*saxpy).of(run);
                let [s] = run.streams();
                for c in run.chunks() {
                    'load: {
                        let copy_x = &run.on(s, 0, c);
                        copy_x.upload(x, dx)?;
                        let copy_y = &run.on(s, 1, c);
                        copy_y.upload(y, dy)?;
                    }
                    'axpy: {
                        let launch_saxpy = &run.on(s, 2, c);
                        saxpy
                            .launch(
                                launch_saxpy.config(blocks(c.len, 256), 256, 0),
                                c.len as u32,
                                a,
                                launch_saxpy.read(dx),
                                launch_saxpy.read_write(dy),
                            )?;
                    }
                    'store: {
                        let copy_dy = &run.on(s, 3, c);
                        copy_dy.download(dy, y)?;
                    }
                }
                ::core::result::Result::Ok(())
            },
        )
    }
}
impl ::thalweg::__private::Build for Saxpy {
    fn build(settings: ::thalweg::__private::Settings<'_>) -> ::thalweg::Result<Self> {
        let pipeline = ::thalweg::__private::Pipelines::new(settings, &Self::PLAN, 4)?;
        let mut built = Self {
            saxpy: pipeline.load(2)?,
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
                ],
            )?;
        ::core::result::Result::Ok(built)
    }
}
impl Saxpy {
    /// The streams, operations and events of this pipeline.
    pub const PLAN: ::thalweg::Plan = ::thalweg::__private::Plan::new(
        "Saxpy",
        ::core::file!(),
        2,
        18,
        &[
            ::thalweg::__private::StreamPlan::new(
                "s",
                ::thalweg::__private::Priority::Default,
                true,
                false,
                false,
            ),
        ],
        &["load", "axpy", "store"],
        &[
            ::thalweg::__private::HostPlan::new("x", true, false, false, 4, 19),
            ::thalweg::__private::HostPlan::new("y", true, true, false, 5, 19),
        ],
        &[
            ::thalweg::__private::BufferPlan::new(
                "dx",
                ::thalweg::__private::BufferKind::Ring,
                9,
                41,
            ),
            ::thalweg::__private::BufferPlan::new(
                "dy",
                ::thalweg::__private::BufferKind::Ring,
                9,
                55,
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
                9,
                31,
            ),
            ::thalweg::__private::OperationPlan::new(
                0,
                0,
                "copy y -> dy",
                ::thalweg::__private::OperationKind::Upload {
                    host: 1,
                    buffer: 1,
                },
                false,
                ::core::option::Option::None,
                &[
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Host(1),
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
                45,
            ),
            ::thalweg::__private::OperationPlan::new(
                1,
                0,
                "saxpy<<<..>>>",
                ::thalweg::__private::OperationKind::Launch {
                    kernel: "saxpy",
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
                        true,
                        true,
                    ),
                ],
                10,
                31,
            ),
            ::thalweg::__private::OperationPlan::new(
                2,
                0,
                "copy dy -> y",
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
                11,
                32,
            ),
        ],
        &[],
        &[],
    );
}
