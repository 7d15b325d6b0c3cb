// pipeline Fill {
//     param refine: bool;
//     output y: [f32];
//     device d: [f32];
//     chunk c = 100;
//     mode = graph;
//     stage all {
//         fill d = f32::from(refine) + f32::EPSILON + (2.0 * (c.len as f32)).sqrt();
//         scale<<<blocks(c.len, 256).min(132), 256>>>(c.len.div_ceil(4), &mut d);
//         copy d -> y;
//     }
// }

/// For each chunk, in this order:
///
/// | stage | stream | operation | waits for |
/// | --- | --- | --- | --- |
/// | all | all | `fill d` |  |
/// | all | all | `scale<<<..>>>` |  |
/// | all | all | `copy d -> y` |  |
///
/// Its first 5 chunks in a ring of 3, if each stage took as long:
///
/// ```text
/// all A0 A1 A2 A3 A4
/// ```
///
/// A `all`; then the number of the chunk.
#[derive(::core::fmt::Debug)]
struct Fill {
    pipeline: ::thalweg::__private::Its<Self, ::thalweg::__private::Pipelines>,
    scale: ::thalweg::__private::OnEach<scale>,
}
impl Fill {
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
        refine: bool,
        y: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Report> {
        let done = self.__chunks(::thalweg::__private::Purpose::Run, refine, y);
        done.map(|timeline| timeline.report)
    }
    /// Runs the pipeline as `run` does, and says when each operation began and ended.
    ///
    /// # Errors
    /// Those of `run`.
    #[track_caller]
    pub fn profile<'run>(
        &mut self,
        refine: bool,
        y: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        self.__chunks(::thalweg::__private::Purpose::Profile, refine, y)
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
        refine: bool,
        y: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        self.__chunks(::thalweg::__private::Purpose::Predict, refine, y)
            .map(|timeline| *timeline)
    }
    #[track_caller]
    fn __chunks<'run>(
        &mut self,
        purpose: ::thalweg::__private::Purpose,
        refine: bool,
        y: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::std::boxed::Box<::thalweg::Timeline>> {
        let Self { pipeline, scale } = self;
        let mut call = ::thalweg::__private::Its::of_mut(pipeline).call(purpose);
        let y = call.output::<f32>(1, y)?;
        let d = call.device::<f32>(1)?;
        (&mut call)
            .repeats([
                ::thalweg::__private::word(&refine),
                ::thalweg::__private::word(&f32::EPSILON),
                ::thalweg::__private::methods::sqrt(|c| ::thalweg::__private::type_of(
                    &(2.0 * (c.len as f32)),
                )),
                ::thalweg::__private::methods::min(
                    |c| ::thalweg::__private::type_of(&blocks(c.len, 256)),
                    |c| {
                        use ::core::cmp::Ord as _;
                        blocks(c.len, 256).min(132)
                    },
                ),
                ::thalweg::__private::methods::div_ceil(|c| ::thalweg::__private::type_of(
                    &c.len,
                )),
                ::thalweg::__private::functions::from(
                    &f32::from,
                    |function, _| function(refine),
                ),
                ::thalweg::__private::is_blocks(
                    &blocks,
                    |function, c| function(c.len, 256),
                ),
            ]);
        call.run(
            ::thalweg::__private::ChunkSize::Items(100),
            |run| {
                let scale = (&*scale).of(run);
                let [all] = run.streams();
                for c in run.chunks() {
                    'all: {
                        let fill_d = &run.on(all, 0, c);
                        fill_d
                            .fill(
                                d,
                                f32::from(refine) + f32::EPSILON
                                    + (2.0 * (c.len as f32)).sqrt(),
                            )?;
                        let launch_scale = &run.on(all, 1, c);
                        scale
                            .launch(
                                launch_scale.config(blocks(c.len, 256).min(132), 256, 0),
                                c.len.div_ceil(4),
                                launch_scale.read_write(d),
                            )?;
                        let copy_d = &run.on(all, 2, c);
                        copy_d.download(d, y)?;
                    }
                }
                ::core::result::Result::Ok(())
            },
        )
    }
}
impl ::thalweg::__private::Build for Fill {
    fn build(settings: ::thalweg::__private::Settings<'_>) -> ::thalweg::Result<Self> {
        let pipeline = ::thalweg::__private::Pipelines::with_auto_depth(
                settings,
                &Self::PLAN,
            )?
            .with_graph();
        let mut built = Self {
            scale: pipeline.load(1)?,
            pipeline: ::thalweg::__private::Its::new(pipeline),
        };
        ::thalweg::__private::Its::of_mut(&mut built.pipeline)
            .reserve(
                ::thalweg::__private::ChunkSize::Items(100),
                &[::thalweg::__private::Size::of::<f32>(1)],
                &[::thalweg::__private::Size::of::<f32>(1)],
            )?;
        ::core::result::Result::Ok(built)
    }
}
impl Fill {
    /// The streams, operations and events of this pipeline.
    pub const PLAN: ::thalweg::Plan = ::thalweg::__private::Plan::new(
        "Fill",
        ::core::file!(),
        2,
        18,
        &[
            ::thalweg::__private::StreamPlan::new(
                "all",
                ::thalweg::__private::Priority::Default,
                false,
                false,
                false,
            ),
        ],
        &["all"],
        &[::thalweg::__private::HostPlan::new("y", false, true, false, 4, 20)],
        &[
            ::thalweg::__private::BufferPlan::new(
                "d",
                ::thalweg::__private::BufferKind::Ring,
                5,
                20,
            ),
        ],
        &[
            ::thalweg::__private::OperationPlan::new(
                0,
                0,
                "fill d",
                ::thalweg::__private::OperationKind::Fill {
                    buffer: 0,
                },
                false,
                ::core::option::Option::None,
                &[
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(0),
                        false,
                        true,
                    ),
                ],
                9,
                17,
            ),
            ::thalweg::__private::OperationPlan::new(
                0,
                0,
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
                10,
                17,
            ),
            ::thalweg::__private::OperationPlan::new(
                0,
                0,
                "copy d -> y",
                ::thalweg::__private::OperationKind::Download {
                    host: 0,
                    buffer: 0,
                },
                false,
                ::core::option::Option::None,
                &[
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Host(0),
                        false,
                        true,
                    ),
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(0),
                        true,
                        false,
                    ),
                ],
                11,
                17,
            ),
        ],
        &[],
        &[],
    );
}
