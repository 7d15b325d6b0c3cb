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
    pipeline: ::thalweg::__private::Pipeline,
    scale: scale,
}
impl Keep {
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
        x: impl ::thalweg::Input<'run, f32>,
        first: impl ::thalweg::Output<'run, f32>,
        second: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Report> {
        let done = self.__chunks(::thalweg::__private::Purpose::Run, x, first, second);
        done.map(|timeline| timeline.report)
    }
    /// As `run`, and says when each operation began and ended.
    ///
    /// # Errors
    /// As `run`.
    #[track_caller]
    pub fn profile<'run>(
        &mut self,
        x: impl ::thalweg::Input<'run, f32>,
        first: impl ::thalweg::Output<'run, f32>,
        second: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        self.__chunks(::thalweg::__private::Purpose::Profile, x, first, second)
    }
    /// Works out when each operation of such a run would begin and end. Nothing is copied or computed, and the
    /// arguments stay as they are.
    ///
    /// # Errors
    /// As `run`, of the arguments, the memory and what a launch requires.
    #[track_caller]
    pub fn predict<'run>(
        &mut self,
        x: impl ::thalweg::Input<'run, f32>,
        first: impl ::thalweg::Output<'run, f32>,
        second: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        self.__chunks(::thalweg::__private::Purpose::Predict, x, first, second)
    }
    #[track_caller]
    fn __chunks<'run>(
        &mut self,
        purpose: ::thalweg::__private::Purpose,
        x: impl ::thalweg::Input<'run, f32>,
        first: impl ::thalweg::Output<'run, f32>,
        second: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        let Self { pipeline, scale } = self;
        let mut call = pipeline.call(purpose);
        let x = call.input::<f32>(1, x)?;
        let first = call.output::<f32>(1, first)?;
        let second = call.output::<f32>(1, second)?;
        let dx = call.device::<f32>(1)?;
        let kept = call.device::<f32>(1)?;
        call.repeats([
            ::thalweg::__private::is_blocks(&blocks, |function, c| function(c.len, 256)),
        ]);
        call.run(
            ::thalweg::__private::ChunkSize::Auto,
            |run| {
                let [load, keep, store] = run.streams();
                let [load_done, keep_kept_done, keep_done, store_done] = run.events();
                for c in run.chunks() {
                    'load: {
                        let copy_x = run.on(load, 0, c);
                        copy_x.wait_reuse(store_done)?;
                        copy_x.upload(x, dx)?;
                        copy_x.record(load_done)?;
                    }
                    'keep: {
                        let copy_dx = run.on(keep, 1, c);
                        copy_dx.wait(load_done)?;
                        copy_dx.copy(dx, kept)?;
                        copy_dx.record(keep_kept_done)?;
                        let launch_scale = run.on(keep, 2, c);
                        scale
                            .launch(
                                launch_scale.config(blocks(c.len, 256), 256, 0),
                                2.0,
                                launch_scale.read_write(dx),
                            )?;
                        launch_scale.record(keep_done)?;
                    }
                    'store: {
                        let copy_kept = run.on(store, 3, c);
                        copy_kept.wait(keep_kept_done)?;
                        copy_kept.download(kept, first)?;
                        let copy_dx = run.on(store, 4, c);
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
        let pipeline = ::thalweg::__private::Pipeline::with_auto_depth(
            settings,
            &Self::PLAN,
        )?;
        let mut built = Self {
            scale: pipeline.load(2)?,
            pipeline,
        };
        built
            .pipeline
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
    pub const PLAN: ::thalweg::Plan = ::thalweg::__private::Plan {
        pipeline: "Keep",
        file: ::core::file!(),
        line: 2,
        column: 18,
        streams: &[
            ::thalweg::__private::StreamPlan {
                name: "load",
                priority: ::thalweg::__private::Priority::Default,
                per_slot: false,
                null: false,
                placed: false,
            },
            ::thalweg::__private::StreamPlan {
                name: "keep",
                priority: ::thalweg::__private::Priority::Default,
                per_slot: false,
                null: false,
                placed: false,
            },
            ::thalweg::__private::StreamPlan {
                name: "store",
                priority: ::thalweg::__private::Priority::Default,
                per_slot: false,
                null: false,
                placed: false,
            },
        ],
        stages: &["load", "keep", "store"],
        hosts: &[
            ::thalweg::__private::HostPlan {
                name: "x",
                reads: true,
                writes: false,
                line: 3,
                column: 19,
            },
            ::thalweg::__private::HostPlan {
                name: "first",
                reads: false,
                writes: true,
                line: 4,
                column: 20,
            },
            ::thalweg::__private::HostPlan {
                name: "second",
                reads: false,
                writes: true,
                line: 5,
                column: 20,
            },
        ],
        buffers: &[
            ::thalweg::__private::BufferPlan {
                name: "dx",
                kind: ::thalweg::__private::BufferKind::Ring,
                line: 7,
                column: 36,
            },
            ::thalweg::__private::BufferPlan {
                name: "kept",
                kind: ::thalweg::__private::BufferKind::Ring,
                line: 8,
                column: 37,
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
                line: 7,
                column: 26,
            },
            ::thalweg::__private::OperationPlan {
                stage: 1,
                stream: 1,
                text: "copy dx -> kept",
                kind: ::thalweg::__private::OperationKind::CopyOnDevice {
                    from: 0,
                    to: 1,
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
                        reads: false,
                        writes: true,
                    },
                ],
                line: 8,
                column: 26,
            },
            ::thalweg::__private::OperationPlan {
                stage: 1,
                stream: 1,
                text: "scale<<<..>>>",
                kind: ::thalweg::__private::OperationKind::Launch {
                    kernel: "scale",
                },
                conditional: false,
                repeat: ::core::option::Option::None,
                accesses: &[
                    ::thalweg::__private::AccessPlan {
                        memory: ::thalweg::__private::Memory::Buffer(0),
                        reads: true,
                        writes: true,
                    },
                ],
                line: 8,
                column: 43,
            },
            ::thalweg::__private::OperationPlan {
                stage: 2,
                stream: 2,
                text: "copy kept -> first",
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
                line: 9,
                column: 27,
            },
            ::thalweg::__private::OperationPlan {
                stage: 2,
                stream: 2,
                text: "copy dx -> second",
                kind: ::thalweg::__private::OperationKind::Download {
                    host: 2,
                    buffer: 0,
                },
                conditional: false,
                repeat: ::core::option::Option::None,
                accesses: &[
                    ::thalweg::__private::AccessPlan {
                        memory: ::thalweg::__private::Memory::Host(2),
                        reads: false,
                        writes: true,
                    },
                    ::thalweg::__private::AccessPlan {
                        memory: ::thalweg::__private::Memory::Buffer(0),
                        reads: true,
                        writes: false,
                    },
                ],
                line: 9,
                column: 47,
            },
        ],
        events: &[
            ::thalweg::__private::EventPlan {
                name: "load_done",
                operation: 0,
            },
            ::thalweg::__private::EventPlan {
                name: "keep_kept_done",
                operation: 1,
            },
            ::thalweg::__private::EventPlan {
                name: "keep_done",
                operation: 2,
            },
            ::thalweg::__private::EventPlan {
                name: "store_done",
                operation: 4,
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
                operation: 3,
                event: 1,
                distance: ::thalweg::__private::Distance::Same,
                hazards: &[
                    ::thalweg::__private::HazardPlan {
                        buffer: "kept",
                        hazard: ::thalweg::__private::Hazard::ReadAfterWrite,
                    },
                ],
            },
            ::thalweg::__private::WaitPlan {
                operation: 4,
                event: 2,
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
                event: 3,
                distance: ::thalweg::__private::Distance::Reuse,
                hazards: &[
                    ::thalweg::__private::HazardPlan {
                        buffer: "dx",
                        hazard: ::thalweg::__private::Hazard::WriteAfterRead,
                    },
                ],
            },
        ],
    };
}
