// pipeline Fill {
//     output y: [f32];
//     device d: [f32];
//     chunk c = 100;
//     mode = graph;
//     stage all { fill d = (2.0).sqrt(); copy d -> y; }
// }

/// For each chunk, in this order:
///
/// | stage | stream | operation | waits for |
/// | --- | --- | --- | --- |
/// | all | all | `fill d` |  |
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
    pipeline: ::thalweg::__private::Pipeline,
}
impl Fill {
    /// Builds the pipeline on a device, as it is declared.
    ///
    /// # Errors
    /// As `build` of its options.
    pub fn new(device: &::thalweg::Device) -> ::thalweg::Result<Self> {
        Self::options(device).build()
    }
    /// Options to build the pipeline with another chunk or depth than it declares.
    pub fn options(device: &::thalweg::Device) -> ::thalweg::Options<Self> {
        ::thalweg::Options::new(device)
    }
    /// Runs the pipeline over all items and waits until the results are in place. It is no future: in async code, `spawn` gives
    /// one.
    ///
    /// # Errors
    /// The arguments' lengths do not fit; memory does not suffice; an operation cannot be enqueued or fails on the
    /// device. The error says where, and how much of each output is complete.
    #[track_caller]
    pub fn run<'run>(
        &mut self,
        y: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Report> {
        let done = self.__chunks(::thalweg::__private::Purpose::Run, y);
        done.map(|timeline| timeline.report)
    }
    /// As `run`, and says when each operation began and ended.
    ///
    /// # Errors
    /// As `run`.
    #[track_caller]
    pub fn profile<'run>(
        &mut self,
        y: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        self.__chunks(::thalweg::__private::Purpose::Profile, y)
    }
    /// Works out when each operation of such a run would begin and end. Nothing is copied or computed, and the
    /// arguments stay as they are.
    ///
    /// # Errors
    /// As `run`, of the arguments, the memory and what a launch requires.
    #[track_caller]
    pub fn predict<'run>(
        &mut self,
        y: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        self.__chunks(::thalweg::__private::Purpose::Predict, y)
    }
    #[track_caller]
    fn __chunks<'run>(
        &mut self,
        purpose: ::thalweg::__private::Purpose,
        y: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        let Self { pipeline } = self;
        let mut call = pipeline.call(purpose);
        let y = call.output::<f32>(1, y)?;
        let d = call.device::<f32>(1)?;
        call.run(
            ::thalweg::__private::ChunkSize::Items(100),
            |run| {
                let [all] = run.streams();
                for c in run.chunks() {
                    'all: {
                        let fill_d = run.on(all, 0, c);
                        fill_d.fill(d, (2.0).sqrt())?;
                        let copy_d = run.on(all, 1, c);
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
        let pipeline = ::thalweg::__private::Pipeline::with_auto_depth(
                settings,
                &Self::PLAN,
            )?
            .with_graph();
        let mut built = Self { pipeline };
        built
            .pipeline
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
    pub const PLAN: ::thalweg::Plan = ::thalweg::__private::Plan {
        pipeline: "Fill",
        file: ::core::file!(),
        line: 2,
        column: 18,
        streams: &[
            ::thalweg::__private::StreamPlan {
                name: "all",
                priority: ::thalweg::__private::Priority::Default,
                per_slot: false,
                null: false,
                placed: false,
            },
        ],
        stages: &["all"],
        hosts: &[
            ::thalweg::__private::HostPlan {
                name: "y",
                reads: false,
                writes: true,
                line: 3,
                column: 20,
            },
        ],
        buffers: &[
            ::thalweg::__private::BufferPlan {
                name: "d",
                kind: ::thalweg::__private::BufferKind::Ring,
                line: 4,
                column: 20,
            },
        ],
        operations: &[
            ::thalweg::__private::OperationPlan {
                stage: 0,
                stream: 0,
                text: "fill d",
                kind: ::thalweg::__private::OperationKind::Fill {
                    buffer: 0,
                },
                conditional: false,
                repeat: ::core::option::Option::None,
                accesses: &[
                    ::thalweg::__private::AccessPlan {
                        memory: ::thalweg::__private::Memory::Buffer(0),
                        reads: false,
                        writes: true,
                    },
                ],
                line: 7,
                column: 25,
            },
            ::thalweg::__private::OperationPlan {
                stage: 0,
                stream: 0,
                text: "copy d -> y",
                kind: ::thalweg::__private::OperationKind::Download {
                    host: 0,
                    buffer: 0,
                },
                conditional: false,
                repeat: ::core::option::Option::None,
                accesses: &[
                    ::thalweg::__private::AccessPlan {
                        memory: ::thalweg::__private::Memory::Host(0),
                        reads: false,
                        writes: true,
                    },
                    ::thalweg::__private::AccessPlan {
                        memory: ::thalweg::__private::Memory::Buffer(0),
                        reads: true,
                        writes: false,
                    },
                ],
                line: 7,
                column: 48,
            },
        ],
        events: &[],
        waits: &[],
    };
}
