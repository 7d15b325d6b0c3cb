//! Tables of variables and what they mean, for each launcher.

use super::ports::derived;
use super::*;

fn read(variables: &[(&str, &str)]) -> Result<Seat> {
    let get = |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    Seat::from_environment(&get)
}

fn seat(variables: &[(&str, &str)]) -> Seat {
    read(variables).unwrap_or_else(|error| panic!("{variables:?}: {error}"))
}

/// The first line of the error.
fn problem(variables: &[(&str, &str)]) -> String {
    let error = read(variables).expect_err("these variables are wrong");
    assert!(matches!(error.kind(), crate::base::error::ErrorKind::Environment(_)), "{error}");
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

const TORCHRUN: [(&str, &str); 8] = [
    ("RANK", "5"),
    ("WORLD_SIZE", "8"),
    ("LOCAL_RANK", "1"),
    ("LOCAL_WORLD_SIZE", "4"),
    ("MASTER_ADDR", "node7"),
    ("MASTER_PORT", "29500"),
    ("TORCHELASTIC_RUN_ID", "abc"),
    ("TORCHELASTIC_RESTART_COUNT", "2"),
];

/// The variables, with one of them replaced, or added.
fn with<'a>(variables: &[(&'a str, &'a str)], name: &'a str, value: &'a str) -> Vec<(&'a str, &'a str)> {
    let others = variables.iter().copied().filter(|(known, _)| *known != name);
    others.chain([(name, value)]).collect()
}

#[test]
fn a_process_without_a_launcher_is_a_world_of_one() {
    assert_eq!(seat(&[]), Seat::alone());
    assert_eq!(
        seat(&[("RANK", ""), ("WORLD_SIZE", ""), ("SLURM_JOB_ID", "7"), ("MASTER_ADDR", "x")]),
        Seat::alone()
    );
}

#[test]
fn torchrun_gives_everything_but_a_free_port() {
    let ports = derived(Some(29_500), "abc:2");
    assert!(!ports.contains(&29_500));
    let meeting = Meeting { host: "node7".to_owned(), given: "MASTER_ADDR=node7".to_owned(), ports };
    let expected = Seat {
        rank: 5,
        size: 8,
        local_rank: Some(1),
        local_size: Some(4),
        token: Some("abc:2".to_owned()),
        meeting: Some(meeting),
    };
    assert_eq!(seat(&TORCHRUN), expected);
}

#[test]
fn a_restart_has_another_token_and_other_ports() {
    let (one, other) = (seat(&TORCHRUN), seat(&with(&TORCHRUN, "TORCHELASTIC_RESTART_COUNT", "3")));
    assert_ne!(one.token, other.token);
    assert_ne!(one.meeting, other.meeting);
}

#[test]
fn variables_set_by_hand_begin_with_their_own_port() {
    let seat = seat(&[("RANK", "1"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "::1"), ("MASTER_PORT", "29500")]);
    let meeting = seat.meeting.expect("two ranks meet");
    assert_eq!((meeting.ports[0], meeting.ports.len(), meeting.host.as_str()), (29_500, 6, "::1"));
    assert_eq!((seat.token, seat.local_rank, seat.local_size), (None, None, None));
}

#[test]
fn a_token_of_ones_own_comes_first() {
    assert_eq!(seat(&with(&TORCHRUN, "THALWEG_TOKEN", "mine")).token.as_deref(), Some("mine"));
}

#[test]
fn a_single_rank_needs_no_address() {
    let seat = seat(&[("RANK", "0"), ("WORLD_SIZE", "1")]);
    assert_eq!((seat.rank, seat.size, seat.meeting), (0, 1, None));
}

const OPENMPI: [(&str, &str); 5] = [
    ("OMPI_COMM_WORLD_RANK", "3"),
    ("OMPI_COMM_WORLD_SIZE", "4"),
    ("OMPI_COMM_WORLD_LOCAL_RANK", "3"),
    ("OMPI_COMM_WORLD_LOCAL_SIZE", "4"),
    ("OMPI_MCA_ess_base_jobid", "1234"),
];

#[test]
fn openmpi_on_one_host_meets_on_it() {
    let seat = seat(&OPENMPI);
    assert_eq!((seat.rank, seat.size, seat.local_rank, seat.local_size), (3, 4, Some(3), Some(4)));
    assert_eq!(seat.token.as_deref(), Some("1234"));
    let meeting = seat.meeting.expect("four ranks meet");
    assert_eq!((meeting.host.as_str(), meeting.ports), ("127.0.0.1", derived(None, "1234")));
}

#[test]
fn openmpi_on_several_hosts_needs_an_address() {
    let several = with(&OPENMPI, "OMPI_COMM_WORLD_LOCAL_SIZE", "2");
    let several = with(&several, "OMPI_COMM_WORLD_LOCAL_RANK", "1");
    let error = read(&several).expect_err("nothing says where rank 0 is").to_string();
    assert!(
        error.contains("`OMPI_COMM_WORLD_RANK=3`") && error.contains("mpirun -x MASTER_ADDR="),
        "{error}"
    );

    let given = with(&several, "MASTER_ADDR", "node1");
    let meeting = seat(&given).meeting.expect("an address");
    assert_eq!((meeting.host.as_str(), meeting.ports), ("node1", derived(None, "1234")));
    let meeting = seat(&with(&given, "MASTER_PORT", "4000")).meeting.expect("an address");
    assert_eq!(meeting.ports[0], 4000);
}

#[test]
fn pmi_on_one_host_meets_on_it() {
    let seat = seat(&[
        ("PMI_RANK", "1"),
        ("PMI_SIZE", "2"),
        ("MPI_LOCALRANKID", "1"),
        ("MPI_LOCALNRANKS", "2"),
        ("PMI_JOBID", "77"),
    ]);
    assert_eq!((seat.rank, seat.size, seat.token.as_deref()), (1, 2, Some("77")));
    assert_eq!(seat.meeting.expect("two ranks meet").host, "127.0.0.1");
}

const SLURM: [(&str, &str); 6] = [
    ("SLURM_STEP_ID", "0"),
    ("SLURM_PROCID", "9"),
    ("SLURM_NTASKS", "16"),
    ("SLURM_LOCALID", "1"),
    ("SLURM_JOB_ID", "991"),
    ("SLURM_STEP_NODELIST", "node[08-09,12]"),
];

#[test]
fn a_step_of_slurm_meets_on_its_first_host() {
    let seat = seat(&SLURM);
    assert_eq!((seat.rank, seat.size, seat.local_rank, seat.local_size), (9, 16, Some(1), None));
    assert_eq!(seat.token.as_deref(), Some("991.0"));
    let meeting = seat.meeting.expect("16 ranks meet");
    assert_eq!((meeting.host.as_str(), meeting.ports), ("node08", derived(None, "991.0")));
    assert_eq!(meeting.given, "SLURM_STEP_NODELIST=node[08-09,12]");
}

#[test]
fn a_batch_script_and_an_interactive_shell_are_worlds_of_one() {
    for step in ["4294967291", "4294967292", "4294967290"] {
        assert_eq!(seat(&with(&SLURM, "SLURM_STEP_ID", step)), Seat::alone());
    }
}

#[test]
fn a_step_has_its_own_number_of_tasks() {
    assert_eq!(seat(&with(&SLURM, "SLURM_STEP_NUM_TASKS", "12")).size, 12);
}

#[test]
fn pmi_that_srun_sets_takes_the_address_from_slurm() {
    let both = [&SLURM[..], &[("PMI_RANK", "9"), ("PMI_SIZE", "16"), ("PMI_JOBID", "991.0")]].concat();
    assert_eq!(seat(&both).meeting.expect("16 ranks meet").host, "node08");
    // `mpirun` in a step that it shares with nobody's rank 3.
    let other = with(&both, "PMI_RANK", "3");
    assert!(problem(&other).starts_with("the ranks are on several hosts"));
}

#[test]
fn torchrun_comes_before_mpi_and_mpi_before_slurm() {
    let all = [&TORCHRUN[..], &OPENMPI[..], &SLURM[..]].concat();
    assert_eq!(seat(&all).size, 8);
    assert_eq!(seat(&[&OPENMPI[..], &SLURM[..]].concat()).size, 4);
}

#[test]
fn wrong_variables_are_named_with_their_values() {
    let number = "is no number";
    let torchrun: &[(&str, &str, String)] = &[
        ("RANK", "3x", format!("`RANK=3x` {number}")),
        ("RANK", "-1", format!("`RANK=-1` {number}")),
        ("RANK", "8", "`RANK=8` is not below `WORLD_SIZE=8`: ranks count from 0".to_owned()),
        ("RANK", "", "`WORLD_SIZE=8` is set, and `RANK` is not".to_owned()),
        ("WORLD_SIZE", "", "`RANK=5` is set, and `WORLD_SIZE` is not".to_owned()),
        ("WORLD_SIZE", "0", "`WORLD_SIZE=0` is no number of ranks: a world has 1 to 32768".to_owned()),
        (
            "WORLD_SIZE",
            "70000",
            "`WORLD_SIZE=70000` is no number of ranks: a world has 1 to 32768".to_owned(),
        ),
        (
            "LOCAL_RANK",
            "4",
            "`LOCAL_RANK=4` is not below `LOCAL_WORLD_SIZE=4`: ranks count from 0".to_owned(),
        ),
        ("LOCAL_WORLD_SIZE", "9", "`LOCAL_WORLD_SIZE=9` is more than all ranks, which are 8".to_owned()),
        ("MASTER_ADDR", "", "`RANK=5` is set, and `MASTER_ADDR` is not".to_owned()),
        ("MASTER_PORT", "", "`RANK=5` is set, and `MASTER_PORT` is not".to_owned()),
        ("MASTER_PORT", "65536", "`MASTER_PORT=65536` is no port: ports are 1 to 65535".to_owned()),
        ("MASTER_PORT", "http", format!("`MASTER_PORT=http` {number}")),
    ];
    for (name, value, expected) in torchrun {
        assert_eq!(problem(&with(&TORCHRUN, name, value)), *expected);
    }
}

#[test]
fn variables_of_other_launchers_are_named_too() {
    assert_eq!(
        problem(&with(&OPENMPI, "OMPI_COMM_WORLD_SIZE", "")),
        "`OMPI_COMM_WORLD_RANK=3` is set, and `OMPI_COMM_WORLD_SIZE` is not"
    );
    assert_eq!(problem(&[("PMI_SIZE", "2")]), "`PMI_SIZE=2` is set, and `PMI_RANK` is not");
    for (name, expected) in [
        ("SLURM_PROCID", "`SLURM_NTASKS=16` is set, and `SLURM_PROCID` is not"),
        ("SLURM_NTASKS", "`SLURM_PROCID=9` is set, and `SLURM_STEP_NUM_TASKS` is not"),
        ("SLURM_JOB_ID", "`SLURM_STEP_ID=0` is set, and `SLURM_JOB_ID` is not"),
        ("SLURM_STEP_NODELIST", "`SLURM_PROCID=9` is set, and `SLURM_STEP_NODELIST` is not"),
    ] {
        assert_eq!(problem(&with(&SLURM, name, "")), expected);
    }
    assert_eq!(
        problem(&with(&SLURM, "SLURM_STEP_NODELIST", "node[")),
        "`SLURM_STEP_NODELIST=node[` is no list of hosts"
    );
}

#[test]
fn an_address_by_hand_is_a_host_and_a_port() {
    for (address, host, port) in [
        ("node7:29500", "node7", 29_500),
        ("10.0.0.7:1", "10.0.0.7", 1),
        ("[::1]:29500", "::1", 29_500),
        ("[fe80::1%eth0]:7", "fe80::1%eth0", 7),
    ] {
        let meeting = Seat::by_hand(0, 2, address, None).expect(address).meeting.expect("two ranks meet");
        assert_eq!((meeting.host.as_str(), meeting.ports), (host, vec![port]), "{address}");
    }
    for address in
        ["node7", "node7:", "node7:0", "node7:70000", ":29500", "::1:29500", "[node7]:1", "[::1:29500"]
    {
        let error = Seat::by_hand(0, 2, address, None).expect_err(address).to_string();
        assert!(error.starts_with(&format!("`{address}` ")), "{error}");
    }
}

#[test]
fn a_rank_by_hand_is_below_the_size() {
    let error = Seat::by_hand(2, 2, "node7:1", None).expect_err("there is no rank 2").to_string();
    assert_eq!(error, "`rank 2` is none of 2 ranks, which count from 0");
    assert!(Seat::by_hand(0, 0, "node7:1", None).is_err());
}

#[test]
fn places_are_shown_as_they_are_written() {
    let meeting = |host: &str, ports: &[u16]| {
        Meeting { host: host.to_owned(), given: String::new(), ports: ports.to_vec() }.place()
    };
    assert_eq!(meeting("::1", &[7]), "[::1]:7");
    assert_eq!(meeting("node7", &[7, 8]), "node7, ports 7, 8");
}
