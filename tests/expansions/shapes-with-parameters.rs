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
    pipeline: ::thalweg::__private::Its<Self, ::thalweg::__private::Pipelines>,
    to_f32: ::thalweg::__private::OnEach<to_f32>,
    twice: ::thalweg::__private::OnEach<twice>,
}
impl Normalise {
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
        channels: usize,
        pixels: impl ::thalweg::Input<'run, u8>,
        tensor: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Report> {
        let done = self
            .__chunks(::thalweg::__private::Purpose::Run, channels, pixels, tensor);
        done.map(|timeline| timeline.report)
    }
    /// Runs the pipeline as `run` does, and says when each operation began and ended.
    ///
    /// # Errors
    /// Those of `run`.
    #[track_caller]
    pub fn profile<'run>(
        &mut self,
        channels: usize,
        pixels: impl ::thalweg::Input<'run, u8>,
        tensor: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        self.__chunks(::thalweg::__private::Purpose::Profile, channels, pixels, tensor)
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
        channels: usize,
        pixels: impl ::thalweg::Input<'run, u8>,
        tensor: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        self.__chunks(::thalweg::__private::Purpose::Predict, channels, pixels, tensor)
            .map(|timeline| *timeline)
    }
    #[track_caller]
    fn __chunks<'run>(
        &mut self,
        purpose: ::thalweg::__private::Purpose,
        channels: usize,
        pixels: impl ::thalweg::Input<'run, u8>,
        tensor: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::std::boxed::Box<::thalweg::Timeline>> {
        let Self { pipeline, to_f32, twice } = self;
        let mut call = ::thalweg::__private::Its::of_mut(pipeline).call(purpose);
        let pixels = call.input::<u8>(channels, pixels)?;
        let tensor = call.output::<f32>(channels * 2, tensor)?;
        let scratch = call.device::<f32>(channels)?;
        let d_tensor2 = call.device::<f32>(channels * 2)?;
        let d_pixels = call.device::<u8>(channels)?;
        (&mut call)
            .repeats([
                ::thalweg::__private::word(&channels),
                ::thalweg::__private::is_blocks(
                    &blocks,
                    |function, images| function(images.len * channels, 256),
                ),
            ]);
        call.run(
            ::thalweg::__private::ChunkSize::Items(64 / channels),
            |run| {
                let to_f32 = (&*to_f32).of(run);
                let twice = (&*twice).of(run);
                let [load, widen, both] = run.streams();
                let [load_done, widen_done, both_twice_done] = run.events();
                for images in run.chunks() {
                    'load: {
                        let copy_pixels = &run.on(load, 0, images);
                        copy_pixels.wait_reuse(widen_done)?;
                        copy_pixels.upload(pixels, d_pixels)?;
                        copy_pixels.record(load_done)?;
                    }
                    'widen: {
                        let launch_to_f32 = &run.on(widen, 1, images);
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
                        let launch_twice = &run.on(both, 2, images);
                        launch_twice.wait(widen_done)?;
                        twice
                            .launch(
                                launch_twice.config(images.len, channels, 0),
                                launch_twice.read(scratch),
                                launch_twice.write(d_tensor2),
                            )?;
                        launch_twice.record(both_twice_done)?;
                        let copy_d_tensor2 = &run.on(both, 3, images);
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
        let pipeline = ::thalweg::__private::Pipelines::with_auto_depth(
            settings,
            &Self::PLAN,
        )?;
        let built = Self {
            to_f32: pipeline.load(1)?,
            twice: pipeline.load(2)?,
            pipeline: ::thalweg::__private::Its::new(pipeline),
        };
        ::core::result::Result::Ok(built)
    }
}
impl Normalise {
    /// The streams, operations and events of this pipeline.
    pub const PLAN: ::thalweg::Plan = ::thalweg::__private::Plan::new(
        "Normalise",
        ::core::file!(),
        2,
        29,
        &[
            ::thalweg::__private::StreamPlan::new(
                "load",
                ::thalweg::__private::Priority::Default,
                false,
                false,
                false,
            ),
            ::thalweg::__private::StreamPlan::new(
                "widen",
                ::thalweg::__private::Priority::Default,
                true,
                false,
                true,
            ),
            ::thalweg::__private::StreamPlan::new(
                "both",
                ::thalweg::__private::Priority::Default,
                false,
                false,
                false,
            ),
        ],
        &["load", "widen", "both"],
        &[
            ::thalweg::__private::HostPlan::new("pixels", true, false, false, 4, 19),
            ::thalweg::__private::HostPlan::new("tensor", false, true, false, 5, 20),
        ],
        &[
            ::thalweg::__private::BufferPlan::new(
                "scratch",
                ::thalweg::__private::BufferKind::Ring,
                6,
                20,
            ),
            ::thalweg::__private::BufferPlan::new(
                "d_tensor2",
                ::thalweg::__private::BufferKind::Ring,
                11,
                20,
            ),
            ::thalweg::__private::BufferPlan::new(
                "d_pixels",
                ::thalweg::__private::BufferKind::Ring,
                8,
                41,
            ),
        ],
        &[
            ::thalweg::__private::OperationPlan::new(
                0,
                0,
                "copy pixels -> d_pixels",
                ::thalweg::__private::OperationKind::Upload {
                    host: 0,
                    buffer: 2,
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
                        ::thalweg::__private::Memory::Buffer(2),
                        false,
                        true,
                    ),
                ],
                8,
                26,
            ),
            ::thalweg::__private::OperationPlan::new(
                1,
                1,
                "to_f32<<<..>>>",
                ::thalweg::__private::OperationKind::Launch {
                    kernel: "to_f32",
                },
                false,
                ::core::option::Option::None,
                &[
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(2),
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
                27,
            ),
            ::thalweg::__private::OperationPlan::new(
                2,
                2,
                "twice<<<..>>>",
                ::thalweg::__private::OperationKind::Launch {
                    kernel: "twice",
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
                        false,
                        true,
                    ),
                ],
                10,
                26,
            ),
            ::thalweg::__private::OperationPlan::new(
                2,
                2,
                "copy d_tensor2 -> tensor",
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
                10,
                84,
            ),
        ],
        &[
            ::thalweg::__private::EventPlan::new("load_done", 0),
            ::thalweg::__private::EventPlan::new("widen_done", 1),
            ::thalweg::__private::EventPlan::new("both_twice_done", 2),
        ],
        &[
            ::thalweg::__private::WaitPlan::new(
                1,
                0,
                ::thalweg::__private::Distance::Same,
                &[
                    ::thalweg::__private::HazardPlan::new(
                        "d_pixels",
                        ::thalweg::__private::Hazard::ReadAfterWrite,
                    ),
                ],
            ),
            ::thalweg::__private::WaitPlan::new(
                2,
                1,
                ::thalweg::__private::Distance::Same,
                &[
                    ::thalweg::__private::HazardPlan::new(
                        "scratch",
                        ::thalweg::__private::Hazard::ReadAfterWrite,
                    ),
                ],
            ),
            ::thalweg::__private::WaitPlan::new(
                0,
                1,
                ::thalweg::__private::Distance::Reuse,
                &[
                    ::thalweg::__private::HazardPlan::new(
                        "d_pixels",
                        ::thalweg::__private::Hazard::WriteAfterRead,
                    ),
                ],
            ),
            ::thalweg::__private::WaitPlan::new(
                1,
                2,
                ::thalweg::__private::Distance::Reuse,
                &[
                    ::thalweg::__private::HazardPlan::new(
                        "scratch",
                        ::thalweg::__private::Hazard::WriteAfterRead,
                    ),
                ],
            ),
        ],
    );
}
