// pipeline Saxpy {
//     param a: f32;
//     input x: [f32];
//     inout y: [f32];
//     chunk c = auto;
//     sync = manual;
//     stream up;
//     stream math;
//     stage load on up { wait stored @ previous; copy x -> dx; copy y -> dy; record loaded; }
//     stage axpy on math {
//         wait loaded;
//         saxpy<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &dx, &mut dy);
//         copy dy -> y;
//         record stored;
//     }
// }

/// For each chunk, in this order:
///
/// | stage | stream | operation | waits for |
/// | --- | --- | --- | --- |
/// | load | up | `copy x -> dx` | `stored` of the chunk before |
/// | load | up | `copy y -> dy` |  |
/// | axpy | math | `saxpy<<<..>>>` | `loaded` |
/// | axpy | math | `copy dy -> y` |  |
///
/// Its first 5 chunks in a ring of 3, if each stage took as long:
///
/// ```text
/// up   L0    L1    L2    L3    L4
/// math    A0    A1    A2    A3    A4
/// ```
///
/// L `load`, A `axpy`; then the number of the chunk.
#[derive(::core::fmt::Debug)]
struct Saxpy {
    pipeline: ::thalweg::__private::Pipeline,
    saxpy: saxpy,
}
impl Saxpy {
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
        a: f32,
        x: impl ::thalweg::Input<'run, f32>,
        y: impl ::thalweg::InOut<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Report> {
        let done = self.__chunks(::thalweg::__private::Purpose::Run, a, x, y);
        done.map(|timeline| timeline.report)
    }
    /// As `run`, and says when each operation began and ended.
    ///
    /// # Errors
    /// As `run`.
    #[track_caller]
    pub fn profile<'run>(
        &mut self,
        a: f32,
        x: impl ::thalweg::Input<'run, f32>,
        y: impl ::thalweg::InOut<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        self.__chunks(::thalweg::__private::Purpose::Profile, a, x, y)
    }
    /// Works out when each operation of such a run would begin and end. Nothing is copied or computed, and the
    /// arguments stay as they are.
    ///
    /// # Errors
    /// As `run`, of the arguments, the memory and what a launch requires.
    #[track_caller]
    pub fn predict<'run>(
        &mut self,
        a: f32,
        x: impl ::thalweg::Input<'run, f32>,
        y: impl ::thalweg::InOut<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        self.__chunks(::thalweg::__private::Purpose::Predict, a, x, y)
    }
    #[track_caller]
    fn __chunks<'run>(
        &mut self,
        purpose: ::thalweg::__private::Purpose,
        a: f32,
        x: impl ::thalweg::Input<'run, f32>,
        y: impl ::thalweg::InOut<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        let Self { pipeline, saxpy } = self;
        let mut call = pipeline.call(purpose);
        let x = call.input::<f32>(1, x)?;
        let y = call.inout::<f32>(1, y)?;
        let dx = call.device::<f32>(1)?;
        let dy = call.device::<f32>(1)?;
        call.repeats([
            ::thalweg::__private::word(&a),
            ::thalweg::__private::is_blocks(&blocks, |function, c| function(c.len, 256)),
        ]);
        call.run(
            ::thalweg::__private::ChunkSize::Auto,
            |run| {
                let [up, math] = run.streams();
                let [loaded, stored] = run.events();
                for c in run.chunks() {
                    'load: {
                        let copy_x = run.on(up, 0, c);
                        copy_x.wait_previous(stored)?;
                        copy_x.upload(x, dx)?;
                        let copy_y = run.on(up, 1, c);
                        copy_y.upload(y, dy)?;
                        copy_y.record(loaded)?;
                    }
                    'axpy: {
                        let launch_saxpy = run.on(math, 2, c);
                        launch_saxpy.wait(loaded)?;
                        saxpy
                            .launch(
                                launch_saxpy.config(blocks(c.len, 256), 256, 0),
                                c.len as u32,
                                a,
                                launch_saxpy.read(dx),
                                launch_saxpy.read_write(dy),
                            )?;
                        let copy_dy = run.on(math, 3, c);
                        copy_dy.download(dy, y)?;
                        copy_dy.record(stored)?;
                    }
                }
                ::core::result::Result::Ok(())
            },
        )
    }
}
impl ::thalweg::__private::Build for Saxpy {
    fn build(settings: ::thalweg::__private::Settings<'_>) -> ::thalweg::Result<Self> {
        let pipeline = ::thalweg::__private::Pipeline::with_auto_depth(
            settings,
            &Self::PLAN,
        )?;
        let mut built = Self {
            saxpy: pipeline.load(2)?,
            pipeline,
        };
        built
            .pipeline
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
    pub const PLAN: ::thalweg::Plan = ::thalweg::__private::Plan {
        pipeline: "Saxpy",
        file: ::core::file!(),
        line: 2,
        column: 18,
        streams: &[
            ::thalweg::__private::StreamPlan {
                name: "up",
                priority: ::thalweg::__private::Priority::Default,
                per_slot: false,
                null: false,
                placed: false,
            },
            ::thalweg::__private::StreamPlan {
                name: "math",
                priority: ::thalweg::__private::Priority::Default,
                per_slot: false,
                null: false,
                placed: false,
            },
        ],
        stages: &["load", "axpy"],
        hosts: &[
            ::thalweg::__private::HostPlan {
                name: "x",
                reads: true,
                writes: false,
                line: 4,
                column: 19,
            },
            ::thalweg::__private::HostPlan {
                name: "y",
                reads: true,
                writes: true,
                line: 5,
                column: 19,
            },
        ],
        buffers: &[
            ::thalweg::__private::BufferPlan {
                name: "dx",
                kind: ::thalweg::__private::BufferKind::Ring,
                line: 10,
                column: 66,
            },
            ::thalweg::__private::BufferPlan {
                name: "dy",
                kind: ::thalweg::__private::BufferKind::Ring,
                line: 10,
                column: 80,
            },
        ],
        operations: &[
            ::thalweg::__private::OperationPlan {
                stage: 0,
                stream: 0,
                text: "copy x -> dx",
                kind: ::thalweg::__private::OperationKind::Upload {
                    host: 0,
                    buffer: 0,
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
                        memory: ::thalweg::__private::Memory::Buffer(0),
                        reads: false,
                        writes: true,
                    },
                ],
                line: 10,
                column: 56,
            },
            ::thalweg::__private::OperationPlan {
                stage: 0,
                stream: 0,
                text: "copy y -> dy",
                kind: ::thalweg::__private::OperationKind::Upload {
                    host: 1,
                    buffer: 1,
                },
                conditional: false,
                repeat: ::core::option::Option::None,
                accesses: &[
                    ::thalweg::__private::AccessPlan {
                        memory: ::thalweg::__private::Memory::Host(1),
                        reads: true,
                        writes: false,
                    },
                    ::thalweg::__private::AccessPlan {
                        memory: ::thalweg::__private::Memory::Buffer(1),
                        reads: false,
                        writes: true,
                    },
                ],
                line: 10,
                column: 70,
            },
            ::thalweg::__private::OperationPlan {
                stage: 1,
                stream: 1,
                text: "saxpy<<<..>>>",
                kind: ::thalweg::__private::OperationKind::Launch {
                    kernel: "saxpy",
                },
                conditional: false,
                repeat: ::core::option::Option::None,
                accesses: &[
                    ::thalweg::__private::AccessPlan {
                        memory: ::thalweg::__private::Memory::Buffer(0),
                        reads: true,
                        writes: false,
                    },
                    ::thalweg::__private::AccessPlan {
                        memory: ::thalweg::__private::Memory::Buffer(1),
                        reads: true,
                        writes: true,
                    },
                ],
                line: 13,
                column: 17,
            },
            ::thalweg::__private::OperationPlan {
                stage: 1,
                stream: 1,
                text: "copy dy -> y",
                kind: ::thalweg::__private::OperationKind::Download {
                    host: 1,
                    buffer: 1,
                },
                conditional: false,
                repeat: ::core::option::Option::None,
                accesses: &[
                    ::thalweg::__private::AccessPlan {
                        memory: ::thalweg::__private::Memory::Host(1),
                        reads: false,
                        writes: true,
                    },
                    ::thalweg::__private::AccessPlan {
                        memory: ::thalweg::__private::Memory::Buffer(1),
                        reads: true,
                        writes: false,
                    },
                ],
                line: 14,
                column: 17,
            },
        ],
        events: &[
            ::thalweg::__private::EventPlan {
                name: "loaded",
                operation: 1,
            },
            ::thalweg::__private::EventPlan {
                name: "stored",
                operation: 3,
            },
        ],
        waits: &[
            ::thalweg::__private::WaitPlan {
                operation: 2,
                event: 0,
                distance: ::thalweg::__private::Distance::Same,
                hazards: &[
                    ::thalweg::__private::HazardPlan {
                        buffer: "dy",
                        hazard: ::thalweg::__private::Hazard::ReadAfterWrite,
                    },
                    ::thalweg::__private::HazardPlan {
                        buffer: "dy",
                        hazard: ::thalweg::__private::Hazard::WriteAfterWrite,
                    },
                ],
            },
            ::thalweg::__private::WaitPlan {
                operation: 0,
                event: 1,
                distance: ::thalweg::__private::Distance::Previous,
                hazards: &[],
            },
        ],
    };
}
