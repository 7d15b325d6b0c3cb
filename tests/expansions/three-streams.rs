// /// `y <- a*x + y`, chunk by chunk.
// pub pipeline Saxpy {
//     param a: f32;
//     input x: [f32];
//     inout y: [f32];
//
//     chunk c = auto;
//     depth = 3;
//
//     stream up: high;
//     stream math;
//     stream down: low;
//
//     stage load on up { copy x -> dx; copy y -> dy; }
//     stage axpy on math { saxpy<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &dx, &mut dy); }
//     stage store on down { copy dy -> y; }
// }

/// `y <- a*x + y`, chunk by chunk.
///
/// For each chunk, in this order:
///
/// | stage | stream | operation | waits for |
/// | --- | --- | --- | --- |
/// | load | up | `copy x -> dx` | `axpy_done` of the chunk that used the slot before |
/// | load | up | `copy y -> dy` | `store_done` of the chunk that used the slot before |
/// | axpy | math | `saxpy<<<..>>>` | `load_done` |
/// | store | down | `copy dy -> y` | `axpy_done` |
///
/// Its first 5 chunks in a ring of 3, if each stage took as long:
///
/// ```text
/// up   L0 L1 L2 L3 L4
/// math    A0 A1 A2 A3 A4
/// down       S0 S1 S2 S3 S4
/// ```
///
/// L `load`, A `axpy`, S `store`; then the number of the chunk.
#[derive(::core::fmt::Debug)]
pub struct Saxpy {
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
                let [up, math, down] = run.streams();
                let [load_done, axpy_done, store_done] = run.events();
                for c in run.chunks() {
                    'load: {
                        let copy_x = run.on(up, 0, c);
                        copy_x.wait_reuse(axpy_done)?;
                        copy_x.upload(x, dx)?;
                        let copy_y = run.on(up, 1, c);
                        copy_y.wait_reuse(store_done)?;
                        copy_y.upload(y, dy)?;
                        copy_y.record(load_done)?;
                    }
                    'axpy: {
                        let launch_saxpy = run.on(math, 2, c);
                        launch_saxpy.wait(load_done)?;
                        saxpy
                            .launch(
                                launch_saxpy.config(blocks(c.len, 256), 256, 0),
                                c.len as u32,
                                a,
                                launch_saxpy.read(dx),
                                launch_saxpy.read_write(dy),
                            )?;
                        launch_saxpy.record(axpy_done)?;
                    }
                    'store: {
                        let copy_dy = run.on(down, 3, c);
                        copy_dy.wait(axpy_done)?;
                        copy_dy.download(dy, y)?;
                        copy_dy.record(store_done)?;
                    }
                }
                ::core::result::Result::Ok(())
            },
        )
    }
}
impl ::thalweg::__private::Build for Saxpy {
    fn build(settings: ::thalweg::__private::Settings<'_>) -> ::thalweg::Result<Self> {
        let pipeline = ::thalweg::__private::Pipeline::new(settings, &Self::PLAN, 3)?;
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
        line: 3,
        column: 22,
        streams: &[
            ::thalweg::__private::StreamPlan {
                name: "up",
                priority: ::thalweg::__private::Priority::High,
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
            ::thalweg::__private::StreamPlan {
                name: "down",
                priority: ::thalweg::__private::Priority::Low,
                per_slot: false,
                null: false,
                placed: false,
            },
        ],
        stages: &["load", "axpy", "store"],
        hosts: &[
            ::thalweg::__private::HostPlan {
                name: "x",
                reads: true,
                writes: false,
                line: 5,
                column: 19,
            },
            ::thalweg::__private::HostPlan {
                name: "y",
                reads: true,
                writes: true,
                line: 6,
                column: 19,
            },
        ],
        buffers: &[
            ::thalweg::__private::BufferPlan {
                name: "dx",
                kind: ::thalweg::__private::BufferKind::Ring,
                line: 15,
                column: 42,
            },
            ::thalweg::__private::BufferPlan {
                name: "dy",
                kind: ::thalweg::__private::BufferKind::Ring,
                line: 15,
                column: 56,
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
                line: 15,
                column: 32,
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
                line: 15,
                column: 46,
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
                line: 16,
                column: 34,
            },
            ::thalweg::__private::OperationPlan {
                stage: 2,
                stream: 2,
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
                line: 17,
                column: 35,
            },
        ],
        events: &[
            ::thalweg::__private::EventPlan {
                name: "load_done",
                operation: 1,
            },
            ::thalweg::__private::EventPlan {
                name: "axpy_done",
                operation: 2,
            },
            ::thalweg::__private::EventPlan {
                name: "store_done",
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
                operation: 3,
                event: 1,
                distance: ::thalweg::__private::Distance::Same,
                hazards: &[
                    ::thalweg::__private::HazardPlan {
                        buffer: "dy",
                        hazard: ::thalweg::__private::Hazard::ReadAfterWrite,
                    },
                ],
            },
            ::thalweg::__private::WaitPlan {
                operation: 0,
                event: 1,
                distance: ::thalweg::__private::Distance::Reuse,
                hazards: &[
                    ::thalweg::__private::HazardPlan {
                        buffer: "dx",
                        hazard: ::thalweg::__private::Hazard::WriteAfterRead,
                    },
                ],
            },
            ::thalweg::__private::WaitPlan {
                operation: 1,
                event: 2,
                distance: ::thalweg::__private::Distance::Reuse,
                hazards: &[
                    ::thalweg::__private::HazardPlan {
                        buffer: "dy",
                        hazard: ::thalweg::__private::Hazard::WriteAfterRead,
                    },
                ],
            },
        ],
    };
}
