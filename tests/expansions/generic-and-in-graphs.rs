// pub pipeline Scale<T: Pod, const K: usize>
// where
//     T: Into<f64>,
// {
//     param by: f64;
//     inout y: [T; K];
//     chunk c = auto;
//     depth = 4;
//     mode = graph;
//     stage load { copy y -> dy; }
//     stage scale { scale::<T><<<blocks(K * c.len, 256), 256>>>((K * c.len) as u32, by, &mut dy); }
//     stage store { copy dy -> y; }
// }

/// For each chunk, in this order:
///
/// | stage | stream | operation | waits for |
/// | --- | --- | --- | --- |
/// | load | load | `copy y -> dy` | `store_done` of the chunk that used the slot before |
/// | scale | scale | `scale::<T><<<..>>>` | `load_done` |
/// | store | store | `copy dy -> y` | `scale_done` |
///
/// Its first 6 chunks in a ring of 4, if each stage took as long:
///
/// ```text
/// load  L0 L1 L2 L3 L4 L5
/// scale    S0 S1 S2 S3 S4 S5
/// store       T0 T1 T2 T3 T4 T5
/// ```
///
/// L `load`, S `scale`, T `store`; then the number of the chunk.
#[derive(::core::fmt::Debug)]
pub struct Scale<T: Pod, const K: usize>
where
    T: Into<f64>,
{
    pipeline: ::thalweg::__private::Pipeline,
    scale_2: scale<T>,
    elements: ::core::marker::PhantomData<fn() -> (T,)>,
}
impl<T: Pod, const K: usize> Scale<T, K>
where
    T: Into<f64>,
{
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
        by: f64,
        y: impl ::thalweg::InOut<'run, T>,
    ) -> ::thalweg::Result<::thalweg::Report> {
        let done = self.__chunks(::thalweg::__private::Purpose::Run, by, y);
        done.map(|timeline| timeline.report)
    }
    /// As `run`, and says when each operation began and ended.
    ///
    /// # Errors
    /// As `run`.
    #[track_caller]
    pub fn profile<'run>(
        &mut self,
        by: f64,
        y: impl ::thalweg::InOut<'run, T>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        self.__chunks(::thalweg::__private::Purpose::Profile, by, y)
    }
    /// Works out when each operation of such a run would begin and end. Nothing is copied or computed, and the
    /// arguments stay as they are.
    ///
    /// # Errors
    /// As `run`, of the arguments, the memory and what a launch requires.
    #[track_caller]
    pub fn predict<'run>(
        &mut self,
        by: f64,
        y: impl ::thalweg::InOut<'run, T>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        self.__chunks(::thalweg::__private::Purpose::Predict, by, y)
    }
    #[track_caller]
    fn __chunks<'run>(
        &mut self,
        purpose: ::thalweg::__private::Purpose,
        by: f64,
        y: impl ::thalweg::InOut<'run, T>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        let Self { pipeline, scale_2, .. } = self;
        let mut call = pipeline.call(purpose);
        let y = call.inout::<T>(K, y)?;
        let dy = call.device::<T>(K)?;
        call.repeats([
            ::thalweg::__private::word(&by),
            ::thalweg::__private::word(&K),
            ::thalweg::__private::is_blocks(
                &blocks,
                |function, c| function(K * c.len, 256),
            ),
        ]);
        call.run(
            ::thalweg::__private::ChunkSize::Auto,
            |run| {
                let [load, scale, store] = run.streams();
                let [load_done, scale_done, store_done] = run.events();
                for c in run.chunks() {
                    'load: {
                        let copy_y = run.on(load, 0, c);
                        copy_y.wait_reuse(store_done)?;
                        copy_y.upload(y, dy)?;
                        copy_y.record(load_done)?;
                    }
                    'scale: {
                        let launch_scale = run.on(scale, 1, c);
                        launch_scale.wait(load_done)?;
                        scale_2
                            .launch(
                                launch_scale.config(blocks(K * c.len, 256), 256, 0),
                                (K * c.len) as u32,
                                by,
                                launch_scale.read_write(dy),
                            )?;
                        launch_scale.record(scale_done)?;
                    }
                    'store: {
                        let copy_dy = run.on(store, 2, c);
                        copy_dy.wait(scale_done)?;
                        copy_dy.download(dy, y)?;
                        copy_dy.record(store_done)?;
                    }
                }
                ::core::result::Result::Ok(())
            },
        )
    }
}
impl<T: Pod, const K: usize> ::thalweg::__private::Build for Scale<T, K>
where
    T: Into<f64>,
{
    fn build(settings: ::thalweg::__private::Settings<'_>) -> ::thalweg::Result<Self> {
        let pipeline = ::thalweg::__private::Pipeline::new(settings, &Self::PLAN, 4)?
            .with_graph();
        let mut built = Self {
            scale_2: pipeline.load(1)?,
            elements: ::core::marker::PhantomData,
            pipeline,
        };
        built
            .pipeline
            .reserve(
                ::thalweg::__private::ChunkSize::Auto,
                &[::thalweg::__private::Size::of::<T>(K)],
                &[::thalweg::__private::Size::of::<T>(K)],
            )?;
        ::core::result::Result::Ok(built)
    }
}
impl<T: Pod, const K: usize> Scale<T, K>
where
    T: Into<f64>,
{
    /// The streams, operations and events of this pipeline.
    pub const PLAN: ::thalweg::Plan = ::thalweg::__private::Plan {
        pipeline: "Scale",
        file: ::core::file!(),
        line: 2,
        column: 22,
        streams: &[
            ::thalweg::__private::StreamPlan {
                name: "load",
                priority: ::thalweg::__private::Priority::Default,
                per_slot: false,
                null: false,
                placed: false,
            },
            ::thalweg::__private::StreamPlan {
                name: "scale",
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
        stages: &["load", "scale", "store"],
        hosts: &[
            ::thalweg::__private::HostPlan {
                name: "y",
                reads: true,
                writes: true,
                line: 7,
                column: 19,
            },
        ],
        buffers: &[
            ::thalweg::__private::BufferPlan {
                name: "dy",
                kind: ::thalweg::__private::BufferKind::Ring,
                line: 11,
                column: 36,
            },
        ],
        operations: &[
            ::thalweg::__private::OperationPlan {
                stage: 0,
                stream: 0,
                text: "copy y -> dy",
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
                line: 11,
                column: 26,
            },
            ::thalweg::__private::OperationPlan {
                stage: 1,
                stream: 1,
                text: "scale::<T><<<..>>>",
                kind: ::thalweg::__private::OperationKind::Launch {
                    kernel: "scale::<T>",
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
                line: 12,
                column: 27,
            },
            ::thalweg::__private::OperationPlan {
                stage: 2,
                stream: 2,
                text: "copy dy -> y",
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
                line: 13,
                column: 27,
            },
        ],
        events: &[
            ::thalweg::__private::EventPlan {
                name: "load_done",
                operation: 0,
            },
            ::thalweg::__private::EventPlan {
                name: "scale_done",
                operation: 1,
            },
            ::thalweg::__private::EventPlan {
                name: "store_done",
                operation: 2,
            },
        ],
        waits: &[
            ::thalweg::__private::WaitPlan {
                operation: 1,
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
                operation: 2,
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
