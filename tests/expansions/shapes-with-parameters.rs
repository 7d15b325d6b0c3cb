// pub(crate) pipeline Normalise {
//     param channels: usize;
//     input pixels: [u8; channels];
//     output tensor: [f32; channels * 2];
//     device scratch: [f32; channels];
//     chunk images = 64 / channels;
//     stage load { copy pixels -> d_pixels; }
//     stage widen { to_f32<<<blocks(images.len * channels, 256), 256>>>(&d_pixels, out scratch); }
//     stage both { twice<<<images.len, channels>>>(&scratch, out d_tensor2); copy d_tensor2 -> tensor; }
//     device d_tensor2: [f32; channels * 2];
// }

/// For each chunk, in this order:
///
/// | stage | stream | operation | waits for |
/// | --- | --- | --- | --- |
/// | load | load | `copy pixels -> d_pixels` | `widen_done` of the chunk that used the slot before |
/// | widen | widen | `to_f32<<<..>>>` | `load_done`, `both_twice_done` of the chunk that used the slot before |
/// | both | both | `twice<<<..>>>` | `widen_done` |
/// | both | both | `copy d_tensor2 -> tensor` |  |
///
/// Its first 5 chunks in a ring of 3, if each stage took as long:
///
/// ```text
/// load  L0 L1 L2 L3 L4
/// widen    W0 W1 W2 W3 W4
/// both        B0 B1 B2 B3 B4
/// ```
///
/// L `load`, W `widen`, B `both`; then the number of the chunk.
#[derive(::core::fmt::Debug)]
pub(crate) struct Normalise {
    pipeline: ::thalweg::__private::Pipeline,
    to_f32: to_f32,
    twice: twice,
}
impl Normalise {
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
        channels: usize,
        pixels: impl ::thalweg::Input<'run, u8>,
        tensor: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Report> {
        let done = self
            .__chunks(::thalweg::__private::Purpose::Run, channels, pixels, tensor);
        done.map(|timeline| timeline.report)
    }
    /// As `run`, and says when each operation began and ended.
    ///
    /// # Errors
    /// As `run`.
    #[track_caller]
    pub fn profile<'run>(
        &mut self,
        channels: usize,
        pixels: impl ::thalweg::Input<'run, u8>,
        tensor: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        self.__chunks(::thalweg::__private::Purpose::Profile, channels, pixels, tensor)
    }
    /// Works out when each operation of such a run would begin and end. Nothing is copied or computed, and the
    /// arguments stay as they are.
    ///
    /// # Errors
    /// As `run`, of the arguments, the memory and what a launch requires.
    #[track_caller]
    pub fn predict<'run>(
        &mut self,
        channels: usize,
        pixels: impl ::thalweg::Input<'run, u8>,
        tensor: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        self.__chunks(::thalweg::__private::Purpose::Predict, channels, pixels, tensor)
    }
    #[track_caller]
    fn __chunks<'run>(
        &mut self,
        purpose: ::thalweg::__private::Purpose,
        channels: usize,
        pixels: impl ::thalweg::Input<'run, u8>,
        tensor: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        let Self { pipeline, to_f32, twice } = self;
        let mut call = pipeline.call(purpose);
        let pixels = call.input::<u8>(channels, pixels)?;
        let tensor = call.output::<f32>(channels * 2, tensor)?;
        let scratch = call.device::<f32>(channels)?;
        let d_tensor2 = call.device::<f32>(channels * 2)?;
        let d_pixels = call.device::<u8>(channels)?;
        call.repeats([
            ::thalweg::__private::word(&channels),
            ::thalweg::__private::is_blocks(
                &blocks,
                |function, images| function(images.len * channels, 256),
            ),
        ]);
        call.run(
            ::thalweg::__private::ChunkSize::Items(64 / channels),
            |run| {
                let [load, widen, both] = run.streams();
                let [load_done, widen_done, both_twice_done] = run.events();
                for images in run.chunks() {
                    'load: {
                        let copy_pixels = run.on(load, 0, images);
                        copy_pixels.wait_reuse(widen_done)?;
                        copy_pixels.upload(pixels, d_pixels)?;
                        copy_pixels.record(load_done)?;
                    }
                    'widen: {
                        let launch_to_f32 = run.on(widen, 1, images);
                        launch_to_f32.wait(load_done)?;
                        launch_to_f32.wait_reuse(both_twice_done)?;
                        to_f32
                            .launch(
                                launch_to_f32
                                    .config(blocks(images.len * channels, 256), 256, 0),
                                launch_to_f32.read(d_pixels),
                                launch_to_f32.write(scratch),
                            )?;
                        launch_to_f32.record(widen_done)?;
                    }
                    'both: {
                        let launch_twice = run.on(both, 2, images);
                        launch_twice.wait(widen_done)?;
                        twice
                            .launch(
                                launch_twice.config(images.len, channels, 0),
                                launch_twice.read(scratch),
                                launch_twice.write(d_tensor2),
                            )?;
                        launch_twice.record(both_twice_done)?;
                        let copy_d_tensor2 = run.on(both, 3, images);
                        copy_d_tensor2.download(d_tensor2, tensor)?;
                    }
                }
                ::core::result::Result::Ok(())
            },
        )
    }
}
impl ::thalweg::__private::Build for Normalise {
    fn build(settings: ::thalweg::__private::Settings<'_>) -> ::thalweg::Result<Self> {
        let pipeline = ::thalweg::__private::Pipeline::with_auto_depth(
            settings,
            &Self::PLAN,
        )?;
        let built = Self {
            to_f32: pipeline.load(1)?,
            twice: pipeline.load(2)?,
            pipeline,
        };
        ::core::result::Result::Ok(built)
    }
}
impl Normalise {
    /// The streams, operations and events of this pipeline.
    pub const PLAN: ::thalweg::Plan = ::thalweg::__private::Plan {
        pipeline: "Normalise",
        file: ::core::file!(),
        line: 2,
        column: 29,
        streams: &[
            ::thalweg::__private::StreamPlan {
                name: "load",
                priority: ::thalweg::__private::Priority::Default,
                per_slot: false,
                null: false,
                placed: false,
            },
            ::thalweg::__private::StreamPlan {
                name: "widen",
                priority: ::thalweg::__private::Priority::Default,
                per_slot: true,
                null: false,
                placed: true,
            },
            ::thalweg::__private::StreamPlan {
                name: "both",
                priority: ::thalweg::__private::Priority::Default,
                per_slot: false,
                null: false,
                placed: false,
            },
        ],
        stages: &["load", "widen", "both"],
        hosts: &[
            ::thalweg::__private::HostPlan {
                name: "pixels",
                reads: true,
                writes: false,
                line: 4,
                column: 19,
            },
            ::thalweg::__private::HostPlan {
                name: "tensor",
                reads: false,
                writes: true,
                line: 5,
                column: 20,
            },
        ],
        buffers: &[
            ::thalweg::__private::BufferPlan {
                name: "scratch",
                kind: ::thalweg::__private::BufferKind::Ring,
                line: 6,
                column: 20,
            },
            ::thalweg::__private::BufferPlan {
                name: "d_tensor2",
                kind: ::thalweg::__private::BufferKind::Ring,
                line: 11,
                column: 20,
            },
            ::thalweg::__private::BufferPlan {
                name: "d_pixels",
                kind: ::thalweg::__private::BufferKind::Ring,
                line: 8,
                column: 41,
            },
        ],
        operations: &[
            ::thalweg::__private::OperationPlan {
                stage: 0,
                stream: 0,
                text: "copy pixels -> d_pixels",
                kind: ::thalweg::__private::OperationKind::Upload {
                    host: 0,
                    buffer: 2,
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
                        memory: ::thalweg::__private::Memory::Buffer(2),
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
                text: "to_f32<<<..>>>",
                kind: ::thalweg::__private::OperationKind::Launch {
                    kernel: "to_f32",
                },
                conditional: false,
                repeat: ::core::option::Option::None,
                accesses: &[
                    ::thalweg::__private::AccessPlan {
                        memory: ::thalweg::__private::Memory::Buffer(2),
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
                column: 27,
            },
            ::thalweg::__private::OperationPlan {
                stage: 2,
                stream: 2,
                text: "twice<<<..>>>",
                kind: ::thalweg::__private::OperationKind::Launch {
                    kernel: "twice",
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
                line: 10,
                column: 26,
            },
            ::thalweg::__private::OperationPlan {
                stage: 2,
                stream: 2,
                text: "copy d_tensor2 -> tensor",
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
                line: 10,
                column: 84,
            },
        ],
        events: &[
            ::thalweg::__private::EventPlan {
                name: "load_done",
                operation: 0,
            },
            ::thalweg::__private::EventPlan {
                name: "widen_done",
                operation: 1,
            },
            ::thalweg::__private::EventPlan {
                name: "both_twice_done",
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
                        buffer: "d_pixels",
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
                        buffer: "scratch",
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
                        buffer: "d_pixels",
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
                        buffer: "scratch",
                        hazard: ::thalweg::__private::Hazard::WriteAfterRead,
                    },
                ],
            },
        ],
    };
}
