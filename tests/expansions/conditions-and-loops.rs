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
    pipeline: ::thalweg::__private::Its<Self, ::thalweg::__private::Pipelines>,
    twice: ::thalweg::__private::OnEach<twice>,
    halve: ::thalweg::__private::OnEach<halve>,
    add: ::thalweg::__private::OnEach<add>,
}
impl Refine {
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
        turns: u32,
        refine: bool,
        x: impl ::thalweg::Input<'run, f32>,
        y: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Report> {
        let done = self
            .__chunks(::thalweg::__private::Purpose::Run, turns, refine, x, y);
        done.map(|timeline| timeline.report)
    }
    /// Runs the pipeline as `run` does, and says when each operation began and ended.
    ///
    /// # Errors
    /// Those of `run`.
    #[track_caller]
    pub fn profile<'run>(
        &mut self,
        turns: u32,
        refine: bool,
        x: impl ::thalweg::Input<'run, f32>,
        y: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        self.__chunks(::thalweg::__private::Purpose::Profile, turns, refine, x, y)
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
        turns: u32,
        refine: bool,
        x: impl ::thalweg::Input<'run, f32>,
        y: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        self.__chunks(::thalweg::__private::Purpose::Predict, turns, refine, x, y)
            .map(|timeline| *timeline)
    }
    #[track_caller]
    fn __chunks<'run>(
        &mut self,
        purpose: ::thalweg::__private::Purpose,
        turns: u32,
        refine: bool,
        x: impl ::thalweg::Input<'run, f32>,
        y: impl ::thalweg::Output<'run, f32>,
    ) -> ::thalweg::Result<::std::boxed::Box<::thalweg::Timeline>> {
        let Self { pipeline, twice, halve, add } = self;
        let mut call = ::thalweg::__private::Its::of_mut(pipeline).call(purpose);
        let x = call.input::<f32>(1, x)?;
        let y = call.output::<f32>(1, y)?;
        let t = call.device::<f32>(1)?;
        let dx = call.device::<f32>(1)?;
        (&mut call)
            .repeats([
                ::thalweg::__private::word(&turns),
                ::thalweg::__private::word(&refine),
                ::thalweg::__private::is_blocks(
                    &blocks,
                    |function, c| function(c.len, 256),
                ),
            ]);
        call.run(
            ::thalweg::__private::ChunkSize::Items(1 << 20),
            |run| {
                let twice = (&*twice).of(run);
                let halve = (&*halve).of(run);
                let add = (&*add).of(run);
                let [up, math, down] = run.streams();
                let [load_done, work_add_done, work_done, store_done] = run.events();
                for c in run.chunks() {
                    'load: {
                        let copy_x = &run.on(up, 0, c);
                        copy_x.wait_reuse(work_add_done)?;
                        copy_x.upload(x, dx)?;
                        copy_x.record(load_done)?;
                    }
                    'work: {
                        let taken: bool = refine || c.index == 0;
                        let copy_dx = &run.on(math, 1, c);
                        copy_dx.wait(load_done)?;
                        copy_dx.wait_reuse(store_done)?;
                        if taken {
                            copy_dx.copy(dx, t)?;
                        }
                        let taken_2: bool = taken && c.len > 1;
                        let fill_dx = &run.on(math, 2, c);
                        if taken_2 {
                            fill_dx.fill(dx, 0.0)?;
                        }
                        let launch_twice = &run.on(math, 3, c);
                        let launch_halve = &run.on(math, 4, c);
                        let launch_add = &run.on(math, 5, c);
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
                        let fill_t = &run.on(math, 6, c);
                        if !taken {
                            fill_t.fill(t, 7.0)?;
                        }
                        fill_t.record(work_done)?;
                    }
                    'store: {
                        let copy_t = &run.on(down, 7, c);
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
        let pipeline = ::thalweg::__private::Pipelines::with_auto_depth(
            settings,
            &Self::PLAN,
        )?;
        let mut built = Self {
            twice: pipeline.load(3)?,
            halve: pipeline.load(4)?,
            add: pipeline.load(5)?,
            pipeline: ::thalweg::__private::Its::new(pipeline),
        };
        ::thalweg::__private::Its::of_mut(&mut built.pipeline)
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
    pub const PLAN: ::thalweg::Plan = ::thalweg::__private::Plan::new(
        "Refine",
        ::core::file!(),
        2,
        18,
        &[
            ::thalweg::__private::StreamPlan::new(
                "up",
                ::thalweg::__private::Priority::Default,
                false,
                false,
                false,
            ),
            ::thalweg::__private::StreamPlan::new(
                "math",
                ::thalweg::__private::Priority::Default,
                false,
                false,
                false,
            ),
            ::thalweg::__private::StreamPlan::new(
                "down",
                ::thalweg::__private::Priority::Default,
                false,
                false,
                false,
            ),
        ],
        &["load", "work", "store"],
        &[
            ::thalweg::__private::HostPlan::new("x", true, false, false, 5, 19),
            ::thalweg::__private::HostPlan::new("y", false, true, false, 6, 20),
        ],
        &[
            ::thalweg::__private::BufferPlan::new(
                "t",
                ::thalweg::__private::BufferKind::Ring,
                7,
                20,
            ),
            ::thalweg::__private::BufferPlan::new(
                "dx",
                ::thalweg::__private::BufferKind::Ring,
                12,
                42,
            ),
        ],
        &[
            ::thalweg::__private::OperationPlan::new(
                0,
                0,
                "copy x -> dx",
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
                12,
                32,
            ),
            ::thalweg::__private::OperationPlan::new(
                1,
                1,
                "copy dx -> t",
                ::thalweg::__private::OperationKind::CopyOnDevice {
                    from: 1,
                    to: 0,
                },
                true,
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
                15,
                21,
            ),
            ::thalweg::__private::OperationPlan::new(
                1,
                1,
                "fill dx",
                ::thalweg::__private::OperationKind::Fill {
                    buffer: 1,
                },
                true,
                ::core::option::Option::None,
                &[
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(1),
                        false,
                        true,
                    ),
                ],
                16,
                36,
            ),
            ::thalweg::__private::OperationPlan::new(
                1,
                1,
                "twice<<<..>>>",
                ::thalweg::__private::OperationKind::Launch {
                    kernel: "twice",
                },
                true,
                ::core::option::Option::Some(2),
                &[
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(0),
                        true,
                        true,
                    ),
                ],
                18,
                25,
            ),
            ::thalweg::__private::OperationPlan::new(
                1,
                1,
                "halve<<<..>>>",
                ::thalweg::__private::OperationKind::Launch {
                    kernel: "halve",
                },
                true,
                ::core::option::Option::Some(2),
                &[
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(0),
                        true,
                        true,
                    ),
                ],
                19,
                40,
            ),
            ::thalweg::__private::OperationPlan::new(
                1,
                1,
                "add<<<..>>>",
                ::thalweg::__private::OperationKind::Launch {
                    kernel: "add",
                },
                true,
                ::core::option::Option::Some(2),
                &[
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(1),
                        true,
                        false,
                    ),
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(0),
                        true,
                        true,
                    ),
                ],
                20,
                32,
            ),
            ::thalweg::__private::OperationPlan::new(
                1,
                1,
                "fill t",
                ::thalweg::__private::OperationKind::Fill {
                    buffer: 0,
                },
                true,
                ::core::option::Option::None,
                &[
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(0),
                        false,
                        true,
                    ),
                ],
                23,
                21,
            ),
            ::thalweg::__private::OperationPlan::new(
                2,
                2,
                "copy t -> y",
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
                26,
                35,
            ),
        ],
        &[
            ::thalweg::__private::EventPlan::new("load_done", 0),
            ::thalweg::__private::EventPlan::new("work_add_done", 5),
            ::thalweg::__private::EventPlan::new("work_done", 6),
            ::thalweg::__private::EventPlan::new("store_done", 7),
        ],
        &[
            ::thalweg::__private::WaitPlan::new(
                1,
                0,
                ::thalweg::__private::Distance::Same,
                &[
                    ::thalweg::__private::HazardPlan::new(
                        "dx",
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
                        "dx",
                        ::thalweg::__private::Hazard::WriteAfterRead,
                    ),
                ],
            ),
            ::thalweg::__private::WaitPlan::new(
                7,
                2,
                ::thalweg::__private::Distance::Same,
                &[
                    ::thalweg::__private::HazardPlan::new(
                        "t",
                        ::thalweg::__private::Hazard::ReadAfterWrite,
                    ),
                ],
            ),
            ::thalweg::__private::WaitPlan::new(
                1,
                3,
                ::thalweg::__private::Distance::Reuse,
                &[
                    ::thalweg::__private::HazardPlan::new(
                        "t",
                        ::thalweg::__private::Hazard::WriteAfterRead,
                    ),
                ],
            ),
        ],
    );
}
