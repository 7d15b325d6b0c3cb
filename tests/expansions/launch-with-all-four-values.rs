// pipeline Transpose {
//     inout m: [f32; 1024];
//     chunk c = 16;
//     stream copies;
//     stream math: priority(-3);
//     stage all on copies {
//         copy m -> d_in;
//         kernels::transpose::<32><<<(32, 32, c.len), (32, 8), 32 * 33 * 4, math>>>(&d_in, out d_out);
//         copy d_out -> m;
//     }
//     device d_out: [f32; 1024];
// }

/// For each chunk, in this order:
///
/// | stage | stream | operation | waits for |
/// | --- | --- | --- | --- |
/// | all | copies | `copy m -> d_in` |  |
/// | all | math | `kernels::transpose::<32><<<..>>>` | `all_d_in_done` |
/// | all | copies | `copy d_out -> m` | `all_transpose_done` |
///
/// Its first 5 chunks in a ring of 3, if each stage took as long:
///
/// ```text
/// copies A0    A0 A1    A1 A2    A2 A3    A3 A4    A4
/// math      A0       A1       A2       A3       A4
/// ```
///
/// A `all`; then the number of the chunk.
#[derive(::core::fmt::Debug)]
struct Transpose {
    pipeline: ::thalweg::__private::Pipeline,
    transpose: kernels::transpose<32>,
}
impl Transpose {
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
        m: impl ::thalweg::InOut<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Report> {
        let done = self.__chunks(::thalweg::__private::Purpose::Run, m);
        done.map(|timeline| timeline.report)
    }
    /// As `run`, and says when each operation began and ended.
    ///
    /// # Errors
    /// As `run`.
    #[track_caller]
    pub fn profile<'run>(
        &mut self,
        m: impl ::thalweg::InOut<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        self.__chunks(::thalweg::__private::Purpose::Profile, m)
    }
    /// Works out when each operation of such a run would begin and end. Nothing is copied or computed, and the
    /// arguments stay as they are.
    ///
    /// # Errors
    /// As `run`, of the arguments, the memory and what a launch requires.
    #[track_caller]
    pub fn predict<'run>(
        &mut self,
        m: impl ::thalweg::InOut<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        self.__chunks(::thalweg::__private::Purpose::Predict, m)
    }
    #[track_caller]
    fn __chunks<'run>(
        &mut self,
        purpose: ::thalweg::__private::Purpose,
        m: impl ::thalweg::InOut<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        let Self { pipeline, transpose } = self;
        let mut call = pipeline.call(purpose);
        let m = call.inout::<f32>(1024, m)?;
        let d_out = call.device::<f32>(1024)?;
        let d_in = call.device::<f32>(1024)?;
        call.repeats([]);
        call.run(
            ::thalweg::__private::ChunkSize::Items(16),
            |run| {
                let [copies, math] = run.streams();
                let [all_d_in_done, all_transpose_done] = run.events();
                for c in run.chunks() {
                    'all: {
                        let copy_m = run.on(copies, 0, c);
                        copy_m.upload(m, d_in)?;
                        copy_m.record(all_d_in_done)?;
                        let launch_transpose = run.on(math, 1, c);
                        launch_transpose.wait(all_d_in_done)?;
                        transpose
                            .launch(
                                launch_transpose
                                    .config((32, 32, c.len), (32, 8), 32 * 33 * 4),
                                launch_transpose.read(d_in),
                                launch_transpose.write(d_out),
                            )?;
                        launch_transpose.record(all_transpose_done)?;
                        let copy_d_out = run.on(copies, 2, c);
                        copy_d_out.wait(all_transpose_done)?;
                        copy_d_out.download(d_out, m)?;
                    }
                }
                ::core::result::Result::Ok(())
            },
        )
    }
}
impl ::thalweg::__private::Build for Transpose {
    fn build(settings: ::thalweg::__private::Settings<'_>) -> ::thalweg::Result<Self> {
        let pipeline = ::thalweg::__private::Pipeline::with_auto_depth(
            settings,
            &Self::PLAN,
        )?;
        let mut built = Self {
            transpose: pipeline.load(1)?,
            pipeline,
        };
        built
            .pipeline
            .reserve(
                ::thalweg::__private::ChunkSize::Items(16),
                &[::thalweg::__private::Size::of::<f32>(1024)],
                &[
                    ::thalweg::__private::Size::of::<f32>(1024),
                    ::thalweg::__private::Size::of::<f32>(1024),
                ],
            )?;
        ::core::result::Result::Ok(built)
    }
}
impl Transpose {
    /// The streams, operations and events of this pipeline.
    pub const PLAN: ::thalweg::Plan = ::thalweg::__private::Plan {
        pipeline: "Transpose",
        file: ::core::file!(),
        line: 2,
        column: 18,
        streams: &[
            ::thalweg::__private::StreamPlan {
                name: "copies",
                priority: ::thalweg::__private::Priority::Default,
                per_slot: false,
                null: false,
                placed: false,
            },
            ::thalweg::__private::StreamPlan {
                name: "math",
                priority: ::thalweg::__private::Priority::Level(-3i32),
                per_slot: false,
                null: false,
                placed: false,
            },
        ],
        stages: &["all"],
        hosts: &[
            ::thalweg::__private::HostPlan {
                name: "m",
                reads: true,
                writes: true,
                line: 3,
                column: 19,
            },
        ],
        buffers: &[
            ::thalweg::__private::BufferPlan {
                name: "d_out",
                kind: ::thalweg::__private::BufferKind::Ring,
                line: 12,
                column: 20,
            },
            ::thalweg::__private::BufferPlan {
                name: "d_in",
                kind: ::thalweg::__private::BufferKind::Ring,
                line: 8,
                column: 27,
            },
        ],
        operations: &[
            ::thalweg::__private::OperationPlan {
                stage: 0,
                stream: 0,
                text: "copy m -> d_in",
                kind: ::thalweg::__private::OperationKind::Upload {
                    host: 0,
                    buffer: 1,
                },
                conditional: false,
                repeat: ::core::option::Option::None,
                accesses: &[
                    ::thalweg::__private::AccessPlan {
                        memory: ::thalweg::__private::Memory::Host(0),
                        reads: true,
                        writes: false,
                    },
                    ::thalweg::__private::AccessPlan {
                        memory: ::thalweg::__private::Memory::Buffer(1),
                        reads: false,
                        writes: true,
                    },
                ],
                line: 8,
                column: 17,
            },
            ::thalweg::__private::OperationPlan {
                stage: 0,
                stream: 1,
                text: "kernels::transpose::<32><<<..>>>",
                kind: ::thalweg::__private::OperationKind::Launch {
                    kernel: "kernels::transpose::<32>",
                },
                conditional: false,
                repeat: ::core::option::Option::None,
                accesses: &[
                    ::thalweg::__private::AccessPlan {
                        memory: ::thalweg::__private::Memory::Buffer(1),
                        reads: true,
                        writes: false,
                    },
                    ::thalweg::__private::AccessPlan {
                        memory: ::thalweg::__private::Memory::Buffer(0),
                        reads: false,
                        writes: true,
                    },
                ],
                line: 9,
                column: 17,
            },
            ::thalweg::__private::OperationPlan {
                stage: 0,
                stream: 0,
                text: "copy d_out -> m",
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
                line: 10,
                column: 17,
            },
        ],
        events: &[
            ::thalweg::__private::EventPlan {
                name: "all_d_in_done",
                operation: 0,
            },
            ::thalweg::__private::EventPlan {
                name: "all_transpose_done",
                operation: 1,
            },
        ],
        waits: &[
            ::thalweg::__private::WaitPlan {
                operation: 1,
                event: 0,
                distance: ::thalweg::__private::Distance::Same,
                hazards: &[
                    ::thalweg::__private::HazardPlan {
                        buffer: "d_in",
                        hazard: ::thalweg::__private::Hazard::ReadAfterWrite,
                    },
                ],
            },
            ::thalweg::__private::WaitPlan {
                operation: 2,
                event: 1,
                distance: ::thalweg::__private::Distance::Same,
                hazards: &[
                    ::thalweg::__private::HazardPlan {
                        buffer: "d_out",
                        hazard: ::thalweg::__private::Hazard::ReadAfterWrite,
                    },
                ],
            },
        ],
    };
}
