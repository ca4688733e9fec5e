"""What other frameworks call our settings, and which of their settings do not exist here."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

__all__ = ["absent", "is_word", "meant"]

# Our names, and the names of the same settings in PyTorch, scikit-learn, Flower, other frameworks
# and papers. If a word has several meanings, the first one that exists is used.
CALLED: Mapping[str, str] = MappingProxyType(
    {
        "algorithms": "algorithm algo algos method methods strategies strategy",
        "algorithm": "algo method strategy",
        "batch": "batch_size batchsize bs local_batch_size mini_batch mini_batch_size minibatch",
        "callbacks": "callback hook hooks",
        "classes": "n_classes num_classes",
        "classes_per_client": "labels_per_client shards shards_per_client",
        "clients": "n_clients n_users num_clients num_partitions num_supernodes num_users users",
        "clip": "clip_norm clipping_norm max_grad_norm",
        "cohort": "client_fraction clients_per_round fraction_fit fraction_train frac join_ratio "
        "min_fit_clients num_sampled participants participation sample_size",
        "concentration": "alpha beta dirichlet_alpha",
        "data": "data_dir data_folder data_path data_root root",
        "dataset": "data_set ds",
        "delta": "target_delta",
        "device": "cuda gpu",
        "epochs": "epoch local_ep local_epochs n_epochs num_epochs",
        "epsilon": "target_epsilon",
        "evaluate_every": "eval_every eval_freq eval_interval test_every",
        "fashion_mnist": "fmnist",
        "folder": "dir directory path root run_dir",
        "groups": "cluster clusters k n_clusters n_components n_groups num_clusters num_groups",
        "jobs": "n_jobs num_workers parallel processes workers",
        "l2": "penalty regularization wd weight_decay",
        "mclr": "logistic logistic_regression logreg softmax_regression",
        "model": "arch architecture backbone net",
        "name": "dataset dataset_name",
        "noise": "noise_multiplier sigma",
        "out": "log_dir logdir out_dir outdir output output_dir save_dir",
        "owner": "client client_id client_ids client_of clients group groups owners users",
        "partition": "distribution partitioner partitioning split",
        "progress": "quiet show_progress verbose",
        "prox": "mu prox_mu proximal proximal_mu",
        "rate": "client_lr eta learning_rate local_lr lr lr_init step_size",
        "rounds": "comm_rounds communication_rounds global_rounds iterations max_iter n_iter "
        "n_rounds num_rounds num_server_rounds",
        "seeds": "n_runs n_seeds num_seeds random_seed random_state repeats repetitions rng runs "
        "seed trials",
        "seed": "manual_seed random_seed random_state rng",
        "set": "config hyperparameters options params settings",
        "steps": "iters local_steps num_steps",
        "test_share": "test_fraction test_ratio test_size test_split val_split",
        "track": "logger loggers tracker trackers wandb",
        "x": "data examples features images inputs",
        "y": "labels target targets",
    }
)
SGD = "clients train by SGD with one rate, without momentum or a schedule"
LOSS = "clients are classifiers, whose loss is cross-entropy"
ABSENT: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("adam", "betas", "lr_decay", "lr_scheduler", "momentum", "nesterov"), SGD),
        **dict.fromkeys(("optim", "optimiser", "optimizer", "schedule", "scheduler"), SGD),
        **dict.fromkeys(("criterion", "loss", "loss_fn", "loss_function", "objective"), LOSS),
    }
)


def meant(name: str, known: Iterable[str]) -> str | None:
    """Return the known name for another framework's ``name``, which may include its table.

    >>> meant("batch_size", ["rate", "batch"]), meant("local.lr", ["local.rate"])
    ('batch', 'local.rate')
    """
    table, dot, key = name.rpartition(".")
    wanted = [f"{table}{dot}{ours}" for ours, theirs in CALLED.items() if key in theirs.split()]
    there = set(known)
    return next((each for each in wanted if each in there), None)


def is_word(name: str) -> bool:
    """Whether other frameworks use this name for one of our settings.

    >>> is_word("lr"), is_word("lrr")
    (True, False)
    """
    return any(name in theirs.split() for theirs in CALLED.values())


def absent(name: str) -> str | None:
    """Return why a setting of other frameworks does not exist here, or None.

    >>> absent("momentum")
    'clients train by SGD with one rate, without momentum or a schedule'
    """
    return ABSENT.get(name.rpartition(".")[2])
