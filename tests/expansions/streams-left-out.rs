// pipeline Gray {
//     input rgb: [u8; 3];
//     output gray: [u8];
//     device d_gray: [u8];
//     chunk c = auto;
//     stage load { copy rgb -> d_rgb; }
//     stage convert { grayscale<<<blocks(c.len, 256), 256>>>(c.len as u32, &d_rgb, out d_gray); }
//     stage store { copy d_gray -> gray; }
// }

/// For each chunk, in this order:
///
/// | stage | stream | operation | waits for |
/// | --- | --- | --- | --- |
/// | load | load | `copy rgb -> d_rgb` | `convert_done` of the chunk that used the slot before |
/// | convert | convert | `grayscale<<<..>>>` | `load_done`, `store_done` of the chunk that used the slot before |
/// | store | store | `copy d_gray -> gray` | `convert_done` |
///
/// Its first 5 chunks in a ring of 3, if each stage took as long:
///
/// ```text
/// load    L0 L1 L2 L3 L4
/// convert    C0 C1 C2 C3 C4
/// store         S0 S1 S2 S3 S4
/// ```
///
/// L `load`, C `convert`, S `store`; then the number of the chunk.
#[derive(::core::fmt::Debug)]
struct Gray {
    pipeline: ::thalweg::__private::Its<Self, ::thalweg::__private::Pipelines>,
    grayscale: ::thalweg::__private::OnEach<grayscale>,
}
impl Gray {
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
        rgb: impl ::thalweg::Input<'run, u8>,
        gray: impl ::thalweg::Output<'run, u8>,
    ) -> ::thalweg::Result<::thalweg::Report> {
        let done = self.__chunks(::thalweg::__private::Purpose::Run, rgb, gray);
        done.map(|timeline| timeline.report)
    }
    /// Runs the pipeline as `run` does, and says when each operation began and ended.
    ///
    /// # Errors
    /// Those of `run`.
    #[track_caller]
    pub fn profile<'run>(
        &mut self,
        rgb: impl ::thalweg::Input<'run, u8>,
        gray: impl ::thalweg::Output<'run, u8>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        self.__chunks(::thalweg::__private::Purpose::Profile, rgb, gray)
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
        rgb: impl ::thalweg::Input<'run, u8>,
        gray: impl ::thalweg::Output<'run, u8>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        self.__chunks(::thalweg::__private::Purpose::Predict, rgb, gray)
            .map(|timeline| *timeline)
    }
    #[track_caller]
    fn __chunks<'run>(
        &mut self,
        purpose: ::thalweg::__private::Purpose,
        rgb: impl ::thalweg::Input<'run, u8>,
        gray: impl ::thalweg::Output<'run, u8>,
    ) -> ::thalweg::Result<::std::boxed::Box<::thalweg::Timeline>> {
        let Self { pipeline, grayscale } = self;
        let mut call = ::thalweg::__private::Its::of_mut(pipeline).call(purpose);
        let rgb = call.input::<u8>(3, rgb)?;
        let gray = call.output::<u8>(1, gray)?;
        let d_gray = call.device::<u8>(1)?;
        let d_rgb = call.device::<u8>(3)?;
        (&mut call)
            .repeats([
                ::thalweg::__private::is_blocks(
                    &blocks,
                    |function, c| function(c.len, 256),
                ),
            ]);
        call.run(
            ::thalweg::__private::ChunkSize::Auto,
            |run| {
                let grayscale = (&*grayscale).of(run);
                let [load, convert, store] = run.streams();
                let [load_done, convert_done, store_done] = run.events();
                for c in run.chunks() {
                    'load: {
                        let copy_rgb = &run.on(load, 0, c);
                        copy_rgb.wait_reuse(convert_done)?;
                        copy_rgb.upload(rgb, d_rgb)?;
                        copy_rgb.record(load_done)?;
                    }
                    'convert: {
                        let launch_grayscale = &run.on(convert, 1, c);
                        launch_grayscale.wait(load_done)?;
                        launch_grayscale.wait_reuse(store_done)?;
                        grayscale
                            .launch(
                                launch_grayscale.config(blocks(c.len, 256), 256, 0),
                                c.len as u32,
                                launch_grayscale.read(d_rgb),
                                launch_grayscale.write(d_gray),
                            )?;
                        launch_grayscale.record(convert_done)?;
                    }
                    'store: {
                        let copy_d_gray = &run.on(store, 2, c);
                        copy_d_gray.wait(convert_done)?;
                        copy_d_gray.download(d_gray, gray)?;
                        copy_d_gray.record(store_done)?;
                    }
                }
                ::core::result::Result::Ok(())
            },
        )
    }
}
impl ::thalweg::__private::Build for Gray {
    fn build(settings: ::thalweg::__private::Settings<'_>) -> ::thalweg::Result<Self> {
        let pipeline = ::thalweg::__private::Pipelines::with_auto_depth(
            settings,
            &Self::PLAN,
        )?;
        let mut built = Self {
            grayscale: pipeline.load(1)?,
            pipeline: ::thalweg::__private::Its::new(pipeline),
        };
        ::thalweg::__private::Its::of_mut(&mut built.pipeline)
            .reserve(
                ::thalweg::__private::ChunkSize::Auto,
                &[
                    ::thalweg::__private::Size::of::<u8>(3),
                    ::thalweg::__private::Size::of::<u8>(1),
                ],
                &[
                    ::thalweg::__private::Size::of::<u8>(1),
                    ::thalweg::__private::Size::of::<u8>(3),
                ],
            )?;
        ::core::result::Result::Ok(built)
    }
}
impl Gray {
    /// The streams, operations and events of this pipeline.
    pub const PLAN: ::thalweg::Plan = ::thalweg::__private::Plan::new(
        "Gray",
        ::core::file!(),
        2,
        18,
        &[
            ::thalweg::__private::StreamPlan::new(
                "load",
                ::thalweg::__private::Priority::Default,
                false,
                false,
                false,
            ),
            ::thalweg::__private::StreamPlan::new(
                "convert",
                ::thalweg::__private::Priority::Default,
                true,
                false,
                true,
            ),
            ::thalweg::__private::StreamPlan::new(
                "store",
                ::thalweg::__private::Priority::Default,
                false,
                false,
                false,
            ),
        ],
        &["load", "convert", "store"],
        &[
            ::thalweg::__private::HostPlan::new("rgb", true, false, false, 3, 19),
            ::thalweg::__private::HostPlan::new("gray", false, true, false, 4, 20),
        ],
        &[
            ::thalweg::__private::BufferPlan::new(
                "d_gray",
                ::thalweg::__private::BufferKind::Ring,
                5,
                20,
            ),
            ::thalweg::__private::BufferPlan::new(
                "d_rgb",
                ::thalweg::__private::BufferKind::Ring,
                7,
                38,
            ),
        ],
        &[
            ::thalweg::__private::OperationPlan::new(
                0,
                0,
                "copy rgb -> d_rgb",
                ::thalweg::__private::OperationKind::Upload {
                    host: 0,
                    buffer: 1,
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
                        ::thalweg::__private::Memory::Buffer(1),
                        false,
                        true,
                    ),
                ],
                7,
                26,
            ),
            ::thalweg::__private::OperationPlan::new(
                1,
                1,
                "grayscale<<<..>>>",
                ::thalweg::__private::OperationKind::Launch {
                    kernel: "grayscale",
                },
                false,
                ::core::option::Option::None,
                &[
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(1),
                        true,
                        false,
                    ),
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(0),
                        false,
                        true,
                    ),
                ],
                8,
                29,
            ),
            ::thalweg::__private::OperationPlan::new(
                2,
                2,
                "copy d_gray -> gray",
                ::thalweg::__private::OperationKind::Download {
                    host: 1,
                    buffer: 0,
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
                        ::thalweg::__private::Memory::Buffer(0),
                        true,
                        false,
                    ),
                ],
                9,
                27,
            ),
        ],
        &[
            ::thalweg::__private::EventPlan::new("load_done", 0),
            ::thalweg::__private::EventPlan::new("convert_done", 1),
            ::thalweg::__private::EventPlan::new("store_done", 2),
        ],
        &[
            ::thalweg::__private::WaitPlan::new(
                1,
                0,
                ::thalweg::__private::Distance::Same,
                &[
                    ::thalweg::__private::HazardPlan::new(
                        "d_rgb",
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
                        "d_gray",
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
                        "d_rgb",
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
                        "d_gray",
                        ::thalweg::__private::Hazard::WriteAfterRead,
                    ),
                ],
            ),
        ],
    );
}
