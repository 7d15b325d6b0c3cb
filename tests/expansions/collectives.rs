// pipeline Train {
//     uniform param share: bool;
//     param rate: f32;
//     input x: [f32; 4];
//     output y: [f32; world.size];
//     carry w: [f32; 256];
//     device g: [f32; 256] per chunk;
//     device edges: [f32; 4];
//     chunk c = 1000;
//     stream math;
//     stream comm;
//     stage load { copy x -> dx; }
//     stage start on comm { if c.index == 0 { broadcast w from 0; } }
//     stage back on math { grad<<<blocks(c.len, 256), 256>>>(&dx, &w, out g, out edges); }
//     stage share on comm {
//         all_reduce mean g;
//         if share {
//             reduce max g[..8] to world.size - 1;
//             reduce_scatter sum g[..2 * world.size] -> _part;
//             all_gather edges -> all;
//             scatter all -> edges from 0;
//             all_to_all all -> _swapped;
//             gather edges -> _rows to 0;
//         }
//         pass edges -> next from (rank + world.size - 1) % world.size to (rank + 1) % world.size;
//         pass edges -> last to 0;
//         exchange edges: halo 1 periodic;
//         barrier;
//     }
//     device _part: [f32; 2] per chunk;
//     stage step on math {
//         sgd<<<1, 256>>>(rate / world.size as f32, &g, &mut w);
//         sum<<<1, 256>>>(&edges, &next, &last, out dy);
//         copy dy -> y;
//     }
//     device dy: [f32; world.size];
// }

/// For each chunk, in this order:
///
/// | stage | stream | operation | waits for |
/// | --- | --- | --- | --- |
/// | load | load | `copy x -> dx` | `back_done` of the chunk that used the slot before |
/// | start | comm | `broadcast w` | `step_sgd_done` of the chunk before |
/// | back | math | `grad<<<..>>>` | `load_done`, `start_done` |
/// | share | comm | `all_reduce mean g` | `back_done` |
/// | share | comm | `reduce max g[..8]` |  |
/// | share | comm | `reduce_scatter sum g[..2 * world.size] -> _part` |  |
/// | share | comm | `all_gather edges -> all` |  |
/// | share | comm | `scatter all -> edges` |  |
/// | share | comm | `all_to_all all -> _swapped` |  |
/// | share | comm | `gather edges -> _rows` |  |
/// | share | comm | `pass edges -> next` |  |
/// | share | comm | `pass edges -> last` |  |
/// | share | comm | `exchange edges` |  |
/// | share | comm | `barrier` |  |
/// | step | math | `sgd<<<..>>>` | `share_g_done` |
/// | step | math | `sum<<<..>>>` | `share_edges_done` |
/// | step | math | `copy dy -> y` |  |
///
/// Its first 5 chunks in a ring of 3, if each stage took as long:
///
/// ```text
/// math    B0    T0    B1    T1    B2    T2    B3    T3    B4    T4
/// comm S0    H0    S1    H1    S2    H2    S3    H3    S4    H4
/// load L0 L1 L2 L3       L4
/// ```
///
/// L `load`, S `start`, B `back`, H `share`, T `step`; then the number of the chunk.
#[derive(::core::fmt::Debug)]
struct Train {
    pipeline: ::thalweg::__private::Its<Self, ::thalweg::__private::Pipelines>,
    grad: ::thalweg::__private::OnEach<grad>,
    sgd: ::thalweg::__private::OnEach<sgd>,
    sum: ::thalweg::__private::OnEach<sum>,
}
impl Train {
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
        share: bool,
        rate: f32,
        x: impl ::thalweg::Input<'run, f32>,
        y: impl ::thalweg::Output<'run, f32>,
        w: impl ::thalweg::InOut<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Report> {
        let done = self
            .__chunks(::thalweg::__private::Purpose::Run, share, rate, x, y, w);
        done.map(|timeline| timeline.report)
    }
    /// Runs the pipeline as `run` does, and says when each operation began and ended.
    ///
    /// # Errors
    /// Those of `run`.
    #[track_caller]
    pub fn profile<'run>(
        &mut self,
        share: bool,
        rate: f32,
        x: impl ::thalweg::Input<'run, f32>,
        y: impl ::thalweg::Output<'run, f32>,
        w: impl ::thalweg::InOut<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        self.__chunks(::thalweg::__private::Purpose::Profile, share, rate, x, y, w)
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
        share: bool,
        rate: f32,
        x: impl ::thalweg::Input<'run, f32>,
        y: impl ::thalweg::Output<'run, f32>,
        w: impl ::thalweg::InOut<'run, f32>,
    ) -> ::thalweg::Result<::thalweg::Timeline> {
        self.__chunks(::thalweg::__private::Purpose::Predict, share, rate, x, y, w)
            .map(|timeline| *timeline)
    }
    #[track_caller]
    fn __chunks<'run>(
        &mut self,
        purpose: ::thalweg::__private::Purpose,
        share: bool,
        rate: f32,
        x: impl ::thalweg::Input<'run, f32>,
        y: impl ::thalweg::Output<'run, f32>,
        w: impl ::thalweg::InOut<'run, f32>,
    ) -> ::thalweg::Result<::std::boxed::Box<::thalweg::Timeline>> {
        let Self { pipeline, grad, sgd, sum } = self;
        let mut call = ::thalweg::__private::Its::of_mut(pipeline).call(purpose);
        (&mut call).uniform("share", &share);
        let world = call.world();
        let x = call.input::<f32>(4, x)?;
        let y = call.output::<f32>(world.size, y)?;
        let w = call.carry::<f32>(256, ::core::option::Option::None, w)?;
        let g = call.per_chunk().device::<f32>(256)?;
        let edges = call.device::<f32>(4)?;
        let _part = call.per_chunk().device::<f32>(2)?;
        let dy = call.device::<f32>(world.size)?;
        let dx = call.device::<f32>(4)?;
        let all = call.device::<f32>(4 * world.size)?;
        let _swapped = call.device::<f32>(4 * world.size)?;
        let _rows = call.device::<f32>(4 * world.size)?;
        let next = call.device::<f32>(4)?;
        let last = call.device::<f32>(4)?;
        call.run(
            ::thalweg::__private::ChunkSize::Items(1000),
            |run| {
                let grad = (&*grad).of(run);
                let sgd = (&*sgd).of(run);
                let sum = (&*sum).of(run);
                let [math, comm, load] = run.streams();
                let [load_done, start_done, back_done, share_g_done, share_edges_done,
                step_sgd_done] = run.events();
                for c in run.chunks() {
                    'load: {
                        let copy_x = &run.on(load, 0, c);
                        copy_x.wait_reuse(back_done)?;
                        if copy_x.is_due() {
                            copy_x.upload(x, dx)?;
                        }
                        copy_x.record(load_done)?;
                    }
                    'start: {
                        let taken: bool = c.index == 0;
                        let broadcast_w = &run.on(comm, 1, c);
                        broadcast_w.wait_previous(step_sgd_done)?;
                        if taken {
                            broadcast_w.broadcast(broadcast_w.whole(w), 0)?;
                        }
                        broadcast_w.record(start_done)?;
                    }
                    'back: {
                        let launch_grad = &run.on(math, 2, c);
                        launch_grad.wait(load_done)?;
                        launch_grad.wait(start_done)?;
                        if launch_grad.is_due() {
                            grad.launch(
                                launch_grad.config(blocks(c.len, 256), 256, 0),
                                launch_grad.read(dx),
                                launch_grad.read(w),
                                launch_grad.write(g),
                                launch_grad.write(edges),
                            )?;
                        }
                        launch_grad.record(back_done)?;
                    }
                    'share: {
                        let all_reduce_g = &run.on(comm, 3, c);
                        all_reduce_g.wait(back_done)?;
                        all_reduce_g
                            .all_reduce(
                                ::thalweg::__private::Mean,
                                all_reduce_g.whole(g),
                            )?;
                        let if_share: bool = share;
                        let reduce_g = &run.on(comm, 4, c);
                        if if_share {
                            reduce_g
                                .reduce(
                                    ::thalweg::__private::Max,
                                    reduce_g.part(g, ..8),
                                    world.size - 1,
                                )?;
                        }
                        reduce_g.record(share_g_done)?;
                        let reduce_scatter_g = &run.on(comm, 5, c);
                        let all_gather_edges = &run.on(comm, 6, c);
                        let scatter_all = &run.on(comm, 7, c);
                        let all_to_all_all = &run.on(comm, 8, c);
                        let gather_edges = &run.on(comm, 9, c);
                        if if_share {
                            reduce_scatter_g
                                .reduce_scatter(
                                    ::thalweg::__private::Sum,
                                    reduce_scatter_g.part(g, ..2 * world.size),
                                    reduce_scatter_g.whole(_part),
                                )?;
                            all_gather_edges
                                .all_gather(
                                    all_gather_edges.whole(edges),
                                    all_gather_edges.whole(all),
                                )?;
                            scatter_all
                                .scatter(
                                    scatter_all.whole(all),
                                    scatter_all.whole(edges),
                                    0,
                                )?;
                            all_to_all_all
                                .all_to_all(
                                    all_to_all_all.whole(all),
                                    all_to_all_all.whole(_swapped),
                                )?;
                            gather_edges
                                .gather(
                                    gather_edges.whole(edges),
                                    gather_edges.whole(_rows),
                                    0,
                                )?;
                        }
                        let pass_edges = &run.on(comm, 10, c);
                        pass_edges
                            .pass(
                                pass_edges.whole(edges),
                                pass_edges.whole(next),
                                ::thalweg::__private::everyone(|rank: usize| {
                                    (rank + world.size - 1) % world.size
                                }),
                                ::thalweg::__private::everyone(|rank: usize| {
                                    (rank + 1) % world.size
                                }),
                            )?;
                        let pass_edges = &run.on(comm, 11, c);
                        pass_edges
                            .pass(
                                pass_edges.whole(edges),
                                pass_edges.whole(last),
                                ::thalweg::__private::nobody(),
                                ::thalweg::__private::everyone(|_: usize| 0),
                            )?;
                        let exchange_edges = &run.on(comm, 12, c);
                        exchange_edges.exchange(exchange_edges.whole(edges), 1, true)?;
                        exchange_edges.record(share_edges_done)?;
                        let barrier = &run.on(comm, 13, c);
                        barrier.barrier()?;
                    }
                    'step: {
                        let launch_sgd = &run.on(math, 14, c);
                        launch_sgd.wait(share_g_done)?;
                        if launch_sgd.is_due() {
                            sgd.launch(
                                launch_sgd.config(1, 256, 0),
                                rate / world.size as f32,
                                launch_sgd.read(g),
                                launch_sgd.read_write(w),
                            )?;
                        }
                        launch_sgd.record(step_sgd_done)?;
                        let launch_sum = &run.on(math, 15, c);
                        launch_sum.wait(share_edges_done)?;
                        if launch_sum.is_due() {
                            sum.launch(
                                launch_sum.config(1, 256, 0),
                                launch_sum.read(edges),
                                launch_sum.read(next),
                                launch_sum.read(last),
                                launch_sum.write(dy),
                            )?;
                        }
                        let copy_dy = &run.on(math, 16, c);
                        if copy_dy.is_due() {
                            copy_dy.download(dy, y)?;
                        }
                    }
                }
                ::core::result::Result::Ok(())
            },
        )
    }
}
impl ::thalweg::__private::Build for Train {
    fn build(settings: ::thalweg::__private::Settings<'_>) -> ::thalweg::Result<Self> {
        let pipeline = ::thalweg::__private::Pipelines::with_auto_depth(
            settings,
            &Self::PLAN,
        )?;
        let built = Self {
            grad: pipeline.load(2)?,
            sgd: pipeline.load(14)?,
            sum: pipeline.load(15)?,
            pipeline: ::thalweg::__private::Its::new(pipeline),
        };
        ::core::result::Result::Ok(built)
    }
}
impl Train {
    /// The streams, operations and events of this pipeline.
    pub const PLAN: ::thalweg::Plan = ::thalweg::__private::Plan::new(
        "Train",
        ::core::file!(),
        2,
        18,
        &[
            ::thalweg::__private::StreamPlan::new(
                "math",
                ::thalweg::__private::Priority::Default,
                false,
                false,
                false,
            ),
            ::thalweg::__private::StreamPlan::new(
                "comm",
                ::thalweg::__private::Priority::Default,
                false,
                false,
                false,
            ),
            ::thalweg::__private::StreamPlan::new(
                "load",
                ::thalweg::__private::Priority::Default,
                false,
                false,
                false,
            ),
        ],
        &["load", "start", "back", "share", "step"],
        &[
            ::thalweg::__private::HostPlan::new("x", true, false, false, 5, 19),
            ::thalweg::__private::HostPlan::new("y", false, true, false, 6, 20),
        ],
        &[
            ::thalweg::__private::BufferPlan::new(
                "w",
                ::thalweg::__private::BufferKind::Carry,
                7,
                19,
            ),
            ::thalweg::__private::BufferPlan::new(
                "g",
                ::thalweg::__private::BufferKind::Ring,
                8,
                20,
            ),
            ::thalweg::__private::BufferPlan::new(
                "edges",
                ::thalweg::__private::BufferKind::Ring,
                9,
                20,
            ),
            ::thalweg::__private::BufferPlan::new(
                "_part",
                ::thalweg::__private::BufferKind::Ring,
                31,
                20,
            ),
            ::thalweg::__private::BufferPlan::new(
                "dy",
                ::thalweg::__private::BufferKind::Ring,
                37,
                20,
            ),
            ::thalweg::__private::BufferPlan::new(
                "dx",
                ::thalweg::__private::BufferKind::Ring,
                13,
                36,
            ),
            ::thalweg::__private::BufferPlan::new(
                "all",
                ::thalweg::__private::BufferKind::Ring,
                21,
                41,
            ),
            ::thalweg::__private::BufferPlan::new(
                "_swapped",
                ::thalweg::__private::BufferKind::Ring,
                23,
                39,
            ),
            ::thalweg::__private::BufferPlan::new(
                "_rows",
                ::thalweg::__private::BufferKind::Ring,
                24,
                37,
            ),
            ::thalweg::__private::BufferPlan::new(
                "next",
                ::thalweg::__private::BufferKind::Ring,
                26,
                31,
            ),
            ::thalweg::__private::BufferPlan::new(
                "last",
                ::thalweg::__private::BufferKind::Ring,
                27,
                31,
            ),
        ],
        &[
            ::thalweg::__private::OperationPlan::new(
                0,
                2,
                "copy x -> dx",
                ::thalweg::__private::OperationKind::Upload {
                    host: 0,
                    buffer: 5,
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
                        ::thalweg::__private::Memory::Buffer(5),
                        false,
                        true,
                    ),
                ],
                13,
                26,
            ),
            ::thalweg::__private::OperationPlan::new(
                1,
                1,
                "broadcast w",
                ::thalweg::__private::OperationKind::Collective {
                    collective: ::thalweg::__private::CollectiveKind::Broadcast,
                },
                true,
                ::core::option::Option::None,
                &[
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(0),
                        true,
                        true,
                    ),
                ],
                14,
                53,
            ),
            ::thalweg::__private::OperationPlan::new(
                2,
                0,
                "grad<<<..>>>",
                ::thalweg::__private::OperationKind::Launch {
                    kernel: "grad",
                },
                false,
                ::core::option::Option::None,
                &[
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(5),
                        true,
                        false,
                    ),
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
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(2),
                        false,
                        true,
                    ),
                ],
                15,
                34,
            ),
            ::thalweg::__private::OperationPlan::new(
                3,
                1,
                "all_reduce mean g",
                ::thalweg::__private::OperationKind::Collective {
                    collective: ::thalweg::__private::CollectiveKind::AllReduce,
                },
                false,
                ::core::option::Option::None,
                &[
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(1),
                        true,
                        true,
                    ),
                ],
                17,
                17,
            ),
            ::thalweg::__private::OperationPlan::new(
                3,
                1,
                "reduce max g[..8]",
                ::thalweg::__private::OperationKind::Collective {
                    collective: ::thalweg::__private::CollectiveKind::Reduce,
                },
                true,
                ::core::option::Option::None,
                &[
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(1),
                        true,
                        true,
                    ),
                ],
                19,
                21,
            ),
            ::thalweg::__private::OperationPlan::new(
                3,
                1,
                "reduce_scatter sum g[..2 * world.size] -> _part",
                ::thalweg::__private::OperationKind::Collective {
                    collective: ::thalweg::__private::CollectiveKind::ReduceScatter,
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
                        ::thalweg::__private::Memory::Buffer(3),
                        false,
                        true,
                    ),
                ],
                20,
                21,
            ),
            ::thalweg::__private::OperationPlan::new(
                3,
                1,
                "all_gather edges -> all",
                ::thalweg::__private::OperationKind::Collective {
                    collective: ::thalweg::__private::CollectiveKind::AllGather,
                },
                true,
                ::core::option::Option::None,
                &[
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(2),
                        true,
                        false,
                    ),
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(6),
                        false,
                        true,
                    ),
                ],
                21,
                21,
            ),
            ::thalweg::__private::OperationPlan::new(
                3,
                1,
                "scatter all -> edges",
                ::thalweg::__private::OperationKind::Collective {
                    collective: ::thalweg::__private::CollectiveKind::Scatter,
                },
                true,
                ::core::option::Option::None,
                &[
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(6),
                        true,
                        false,
                    ),
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(2),
                        false,
                        true,
                    ),
                ],
                22,
                21,
            ),
            ::thalweg::__private::OperationPlan::new(
                3,
                1,
                "all_to_all all -> _swapped",
                ::thalweg::__private::OperationKind::Collective {
                    collective: ::thalweg::__private::CollectiveKind::AllToAll,
                },
                true,
                ::core::option::Option::None,
                &[
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(6),
                        true,
                        false,
                    ),
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(7),
                        false,
                        true,
                    ),
                ],
                23,
                21,
            ),
            ::thalweg::__private::OperationPlan::new(
                3,
                1,
                "gather edges -> _rows",
                ::thalweg::__private::OperationKind::Collective {
                    collective: ::thalweg::__private::CollectiveKind::Gather,
                },
                true,
                ::core::option::Option::None,
                &[
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(2),
                        true,
                        false,
                    ),
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(8),
                        false,
                        true,
                    ),
                ],
                24,
                21,
            ),
            ::thalweg::__private::OperationPlan::new(
                3,
                1,
                "pass edges -> next",
                ::thalweg::__private::OperationKind::Collective {
                    collective: ::thalweg::__private::CollectiveKind::Pass,
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
                        ::thalweg::__private::Memory::Buffer(9),
                        false,
                        true,
                    ),
                ],
                26,
                17,
            ),
            ::thalweg::__private::OperationPlan::new(
                3,
                1,
                "pass edges -> last",
                ::thalweg::__private::OperationKind::Collective {
                    collective: ::thalweg::__private::CollectiveKind::Pass,
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
                        ::thalweg::__private::Memory::Buffer(10),
                        false,
                        true,
                    ),
                ],
                27,
                17,
            ),
            ::thalweg::__private::OperationPlan::new(
                3,
                1,
                "exchange edges",
                ::thalweg::__private::OperationKind::Collective {
                    collective: ::thalweg::__private::CollectiveKind::Exchange,
                },
                false,
                ::core::option::Option::None,
                &[
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(2),
                        true,
                        true,
                    ),
                ],
                28,
                17,
            ),
            ::thalweg::__private::OperationPlan::new(
                3,
                1,
                "barrier",
                ::thalweg::__private::OperationKind::Collective {
                    collective: ::thalweg::__private::CollectiveKind::Barrier,
                },
                false,
                ::core::option::Option::None,
                &[],
                29,
                17,
            ),
            ::thalweg::__private::OperationPlan::new(
                4,
                0,
                "sgd<<<..>>>",
                ::thalweg::__private::OperationKind::Launch {
                    kernel: "sgd",
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
                        true,
                        true,
                    ),
                ],
                33,
                17,
            ),
            ::thalweg::__private::OperationPlan::new(
                4,
                0,
                "sum<<<..>>>",
                ::thalweg::__private::OperationKind::Launch {
                    kernel: "sum",
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
                        ::thalweg::__private::Memory::Buffer(9),
                        true,
                        false,
                    ),
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(10),
                        true,
                        false,
                    ),
                    ::thalweg::__private::AccessPlan::new(
                        ::thalweg::__private::Memory::Buffer(4),
                        false,
                        true,
                    ),
                ],
                34,
                17,
            ),
            ::thalweg::__private::OperationPlan::new(
                4,
                0,
                "copy dy -> y",
                ::thalweg::__private::OperationKind::Download {
                    host: 1,
                    buffer: 4,
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
                        ::thalweg::__private::Memory::Buffer(4),
                        true,
                        false,
                    ),
                ],
                35,
                17,
            ),
        ],
        &[
            ::thalweg::__private::EventPlan::new("load_done", 0),
            ::thalweg::__private::EventPlan::new("start_done", 1),
            ::thalweg::__private::EventPlan::new("back_done", 2),
            ::thalweg::__private::EventPlan::new("share_g_done", 4),
            ::thalweg::__private::EventPlan::new("share_edges_done", 12),
            ::thalweg::__private::EventPlan::new("step_sgd_done", 14),
        ],
        &[
            ::thalweg::__private::WaitPlan::new(
                2,
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
                2,
                1,
                ::thalweg::__private::Distance::Same,
                &[
                    ::thalweg::__private::HazardPlan::new(
                        "w",
                        ::thalweg::__private::Hazard::ReadAfterWrite,
                    ),
                ],
            ),
            ::thalweg::__private::WaitPlan::new(
                3,
                2,
                ::thalweg::__private::Distance::Same,
                &[
                    ::thalweg::__private::HazardPlan::new(
                        "g",
                        ::thalweg::__private::Hazard::ReadAfterWrite,
                    ),
                    ::thalweg::__private::HazardPlan::new(
                        "g",
                        ::thalweg::__private::Hazard::WriteAfterWrite,
                    ),
                ],
            ),
            ::thalweg::__private::WaitPlan::new(
                0,
                2,
                ::thalweg::__private::Distance::Reuse,
                &[
                    ::thalweg::__private::HazardPlan::new(
                        "dx",
                        ::thalweg::__private::Hazard::WriteAfterRead,
                    ),
                ],
            ),
            ::thalweg::__private::WaitPlan::new(
                14,
                3,
                ::thalweg::__private::Distance::Same,
                &[
                    ::thalweg::__private::HazardPlan::new(
                        "g",
                        ::thalweg::__private::Hazard::ReadAfterWrite,
                    ),
                ],
            ),
            ::thalweg::__private::WaitPlan::new(
                15,
                4,
                ::thalweg::__private::Distance::Same,
                &[
                    ::thalweg::__private::HazardPlan::new(
                        "edges",
                        ::thalweg::__private::Hazard::ReadAfterWrite,
                    ),
                ],
            ),
            ::thalweg::__private::WaitPlan::new(
                1,
                5,
                ::thalweg::__private::Distance::Previous,
                &[
                    ::thalweg::__private::HazardPlan::new(
                        "w",
                        ::thalweg::__private::Hazard::ReadAfterWrite,
                    ),
                    ::thalweg::__private::HazardPlan::new(
                        "w",
                        ::thalweg::__private::Hazard::WriteAfterRead,
                    ),
                    ::thalweg::__private::HazardPlan::new(
                        "w",
                        ::thalweg::__private::Hazard::WriteAfterWrite,
                    ),
                ],
            ),
        ],
    );
}
