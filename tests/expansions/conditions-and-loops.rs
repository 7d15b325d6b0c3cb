// pipeline Refine {
//     param turns: u32;
//     param refine: bool;
//     input x: [f32];
//     output y: [f32];
//     device t: [f32];
//     chunk c = 1 << 20;
//     stream up;
//     stream math;
//     stream down;
//     stage load on up { copy x -> dx; }
//     stage work on math {
//         if refine || c.index == 0 {
//             copy dx -> t;
//             if c.len > 1 { fill dx = 0.0; }
//             repeat turns {
//                 twice<<<blocks(c.len, 256), 256>>>(c.len as u32, &mut t);
//                 if turns > 8 { halve<<<blocks(c.len, 256), 256>>>(c.len as u32, &mut t); }
//                 else { add<<<blocks(c.len, 256), 256>>>(c.len as u32, &dx, &mut t); }
//             }
//         } else {
//             fill t = 7.0;
//         }
//     }
//     stage store on down { copy t -> y; }
// }

/// For each chunk, in this order:
///
/// | stage | stream | operation | waits for |
/// | --- | --- | --- | --- |
/// | load | up | `copy x -> dx` | `work_add_done` of the chunk that used the slot before |
/// | work | math | `copy dx -> t` | `load_done`, `store_done` of the chunk that used the slot before |
/// | work | math | `fill dx` |  |
/// | work | math | `twice<<<..>>>` |  |
/// | work | math | `halve<<<..>>>` |  |
/// | work | math | `add<<<..>>>` |  |
/// | work | math | `fill t` |  |
/// | store | down | `copy t -> y` | `work_done` |
///
/// Its first 5 chunks in a ring of 3, if each stage took as long:
///
/// ```text
/// up   L0 L1 L2 L3 L4
/// math    W0 W1 W2 W3 W4
/// down       S0 S1 S2 S3 S4
/// ```
///
/// L `load`, W `work`, S `store`; then the number of the chunk.
#[derive(::core::fmt::Debug)]
struct Refine {
    pipeline: ::thalweg::__private::Pipeline,
    twice: twice,
    halve: halve,
    add: add,
}
impl Refine {
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
        turns: u32,
        refine: bool,
        x: impl ::thalweg::Input<'run, f32>,
        y: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Report> {
        let done = self
            .__chunks(::thalweg::__private::Purpose::Run, turns, refine, x, y);
        done.map(|timeline| timeline.report)
    }
    /// As `run`, and says when each operation began and ended.
    ///
    /// # Errors
    /// As `run`.
    #[track_caller]
    pub fn profile<'run>(
        &mut self,
        turns: u32,
        refine: bool,
        x: impl ::thalweg::Input<'run, f32>,
        y: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        self.__chunks(::thalweg::__private::Purpose::Profile, turns, refine, x, y)
    }
    /// Works out when each operation of such a run would begin and end. Nothing is copied or computed, and the
    /// arguments stay as they are.
    ///
    /// # Errors
    /// As `run`, of the arguments, the memory and what a launch requires.
    #[track_caller]
    pub fn predict<'run>(
        &mut self,
        turns: u32,
        refine: bool,
        x: impl ::thalweg::Input<'run, f32>,
        y: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        self.__chunks(::thalweg::__private::Purpose::Predict, turns, refine, x, y)
    }
    #[track_caller]
    fn __chunks<'run>(
        &mut self,
        purpose: ::thalweg::__private::Purpose,
        turns: u32,
        refine: bool,
        x: impl ::thalweg::Input<'run, f32>,
        y: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        let Self { pipeline, twice, halve, add } = self;
        let mut call = pipeline.call(purpose);
        let x = call.input::<f32>(1, x)?;
        let y = call.output::<f32>(1, y)?;
        let t = call.device::<f32>(1)?;
        let dx = call.device::<f32>(1)?;
        call.repeats([
            ::thalweg::__private::word(&turns),
            ::thalweg::__private::word(&refine),
            ::thalweg::__private::is_blocks(&blocks, |function, c| function(c.len, 256)),
        ]);
        call.run(
            ::thalweg::__private::ChunkSize::Items(1 << 20),
            |run| {
                let [up, math, down] = run.streams();
                let [load_done, work_add_done, work_done, store_done] = run.events();
                for c in run.chunks() {
                    'load: {
                        let copy_x = run.on(up, 0, c);
                        copy_x.wait_reuse(work_add_done)?;
                        copy_x.upload(x, dx)?;
                        copy_x.record(load_done)?;
                    }
                    'work: {
                        let taken: bool = refine || c.index == 0;
                        let copy_dx = run.on(math, 1, c);
                        copy_dx.wait(load_done)?;
                        copy_dx.wait_reuse(store_done)?;
                        if taken {
                            copy_dx.copy(dx, t)?;
                        }
                        let taken_2: bool = taken && c.len > 1;
                        let fill_dx = run.on(math, 2, c);
                        if taken_2 {
                            fill_dx.fill(dx, 0.0)?;
                        }
                        let launch_twice = run.on(math, 3, c);
                        let launch_halve = run.on(math, 4, c);
                        let launch_add = run.on(math, 5, c);
                        if taken {
                            for _ in ::thalweg::__private::times(turns) {
                                'turn: {
                                    twice
                                        .launch(
                                            launch_twice.config(blocks(c.len, 256), 256, 0),
                                            c.len as u32,
                                            launch_twice.read_write(t),
                                        )?;
                                    if turns > 8 {
                                        halve
                                            .launch(
                                                launch_halve.config(blocks(c.len, 256), 256, 0),
                                                c.len as u32,
                                                launch_halve.read_write(t),
                                            )?;
                                    } else {
                                        add.launch(
                                            launch_add.config(blocks(c.len, 256), 256, 0),
                                            c.len as u32,
                                            launch_add.read(dx),
                                            launch_add.read_write(t),
                                        )?;
                                    }
                                }
                            }
                        }
                        launch_add.record(work_add_done)?;
                        let fill_t = run.on(math, 6, c);
                        if !taken {
                            fill_t.fill(t, 7.0)?;
                        }
                        fill_t.record(work_done)?;
                    }
                    'store: {
                        let copy_t = run.on(down, 7, c);
                        copy_t.wait(work_done)?;
                        copy_t.download(t, y)?;
                        copy_t.record(store_done)?;
                    }
                }
                ::core::result::Result::Ok(())
            },
        )
    }
}
impl ::thalweg::__private::Build for Refine {
    fn build(settings: ::thalweg::__private::Settings<'_>) -> ::thalweg::Result<Self> {
        let pipeline = ::thalweg::__private::Pipeline::with_auto_depth(
            settings,
            &Self::PLAN,
        )?;
        let mut built = Self {
            twice: pipeline.load(3)?,
            halve: pipeline.load(4)?,
            add: pipeline.load(5)?,
            pipeline,
        };
        built
            .pipeline
            .reserve(
                ::thalweg::__private::ChunkSize::Items(1 << 20),
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
impl Refine {
    /// The streams, operations and events of this pipeline.
    pub const PLAN: ::thalweg::Plan = ::thalweg::__private::Plan {
        pipeline: "Refine",
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
            ::thalweg::__private::StreamPlan {
                name: "down",
                priority: ::thalweg::__private::Priority::Default,
                per_slot: false,
                null: false,
                placed: false,
            },
        ],
        stages: &["load", "work", "store"],
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
                reads: false,
                writes: true,
                line: 6,
                column: 20,
            },
        ],
        buffers: &[
            ::thalweg::__private::BufferPlan {
                name: "t",
                kind: ::thalweg::__private::BufferKind::Ring,
                line: 7,
                column: 20,
            },
            ::thalweg::__private::BufferPlan {
                name: "dx",
                kind: ::thalweg::__private::BufferKind::Ring,
                line: 12,
                column: 42,
            },
        ],
        operations: &[
            ::thalweg::__private::OperationPlan {
                stage: 0,
                stream: 0,
                text: "copy x -> dx",
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
                line: 12,
                column: 32,
            },
            ::thalweg::__private::OperationPlan {
                stage: 1,
                stream: 1,
                text: "copy dx -> t",
                kind: ::thalweg::__private::OperationKind::CopyOnDevice {
                    from: 1,
                    to: 0,
                },
                conditional: true,
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
                line: 15,
                column: 21,
            },
            ::thalweg::__private::OperationPlan {
                stage: 1,
                stream: 1,
                text: "fill dx",
                kind: ::thalweg::__private::OperationKind::Fill {
                    buffer: 1,
                },
                conditional: true,
                repeat: ::core::option::Option::None,
                accesses: &[
                    ::thalweg::__private::AccessPlan {
                        memory: ::thalweg::__private::Memory::Buffer(1),
                        reads: false,
                        writes: true,
                    },
                ],
                line: 16,
                column: 36,
            },
            ::thalweg::__private::OperationPlan {
                stage: 1,
                stream: 1,
                text: "twice<<<..>>>",
                kind: ::thalweg::__private::OperationKind::Launch {
                    kernel: "twice",
                },
                conditional: true,
                repeat: ::core::option::Option::Some(2),
                accesses: &[
                    ::thalweg::__private::AccessPlan {
                        memory: ::thalweg::__private::Memory::Buffer(0),
                        reads: true,
                        writes: true,
                    },
                ],
                line: 18,
                column: 25,
            },
            ::thalweg::__private::OperationPlan {
                stage: 1,
                stream: 1,
                text: "halve<<<..>>>",
                kind: ::thalweg::__private::OperationKind::Launch {
                    kernel: "halve",
                },
                conditional: true,
                repeat: ::core::option::Option::Some(2),
                accesses: &[
                    ::thalweg::__private::AccessPlan {
                        memory: ::thalweg::__private::Memory::Buffer(0),
                        reads: true,
                        writes: true,
                    },
                ],
                line: 19,
                column: 40,
            },
            ::thalweg::__private::OperationPlan {
                stage: 1,
                stream: 1,
                text: "add<<<..>>>",
                kind: ::thalweg::__private::OperationKind::Launch {
                    kernel: "add",
                },
                conditional: true,
                repeat: ::core::option::Option::Some(2),
                accesses: &[
                    ::thalweg::__private::AccessPlan {
                        memory: ::thalweg::__private::Memory::Buffer(1),
                        reads: true,
                        writes: false,
                    },
                    ::thalweg::__private::AccessPlan {
                        memory: ::thalweg::__private::Memory::Buffer(0),
                        reads: true,
                        writes: true,
                    },
                ],
                line: 20,
                column: 32,
            },
            ::thalweg::__private::OperationPlan {
                stage: 1,
                stream: 1,
                text: "fill t",
                kind: ::thalweg::__private::OperationKind::Fill {
                    buffer: 0,
                },
                conditional: true,
                repeat: ::core::option::Option::None,
                accesses: &[
                    ::thalweg::__private::AccessPlan {
                        memory: ::thalweg::__private::Memory::Buffer(0),
                        reads: false,
                        writes: true,
                    },
                ],
                line: 23,
                column: 21,
            },
            ::thalweg::__private::OperationPlan {
                stage: 2,
                stream: 2,
                text: "copy t -> y",
                kind: ::thalweg::__private::OperationKind::Download {
                    host: 1,
                    buffer: 0,
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
                        memory: ::thalweg::__private::Memory::Buffer(0),
                        reads: true,
                        writes: false,
                    },
                ],
                line: 26,
                column: 35,
            },
        ],
        events: &[
            ::thalweg::__private::EventPlan {
                name: "load_done",
                operation: 0,
            },
            ::thalweg::__private::EventPlan {
                name: "work_add_done",
                operation: 5,
            },
            ::thalweg::__private::EventPlan {
                name: "work_done",
                operation: 6,
            },
            ::thalweg::__private::EventPlan {
                name: "store_done",
                operation: 7,
            },
        ],
        waits: &[
            ::thalweg::__private::WaitPlan {
                operation: 1,
                event: 0,
                distance: ::thalweg::__private::Distance::Same,
                hazards: &[
                    ::thalweg::__private::HazardPlan {
                        buffer: "dx",
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
                operation: 7,
                event: 2,
                distance: ::thalweg::__private::Distance::Same,
                hazards: &[
                    ::thalweg::__private::HazardPlan {
                        buffer: "t",
                        hazard: ::thalweg::__private::Hazard::ReadAfterWrite,
                    },
                ],
            },
            ::thalweg::__private::WaitPlan {
                operation: 1,
                event: 3,
                distance: ::thalweg::__private::Distance::Reuse,
                hazards: &[
                    ::thalweg::__private::HazardPlan {
                        buffer: "t",
                        hazard: ::thalweg::__private::Hazard::WriteAfterRead,
                    },
                ],
            },
        ],
    };
}
