"""``flexcfl run``: train one federation and leave a run folder."""

from flexcfl.cli.asking import Asked, asking

__all__ = ["run"]


@asking
def run(asked: Asked) -> None:
    """Train one federation and leave a folder with its settings, figures and models.

    Without arguments it runs FlexCFL on a small federation that needs no download, some of whose
    clients exchange their data before each round.
    EXPERIMENT.toml is a file of settings, such as every run leaves in its folder. Settings come
    from the dataset's defaults, then the file, then the options, then --set; the later one wins.
    With another dataset or algorithm than the file's, values of the file that equal the defaults
    of the old one give way to those of the new one.

    \b
    Tables and settings, for the file and --set:
      data       name, arrivals; others depend on the dataset and its partition:
                 partition (published, classes, dirichlet, iid), seed, clients,
                 classes_per_client, concentration, skew, test_share;
                 synthetic: alpha, beta; leaf: folder, shape;
                 npz: folder, test_share, seed;
                 clusters: clusters, features, classes, examples, noise
      model      name
      algorithm  name; others depend on the algorithm:
                 fedgroup, flexcfl, flexcfl-rac: groups, alpha, measure,
                   most_groups, pretraining_steps, pretraining_epochs,
                   first_model, eta_g, sharing;
                 flexcfl-rcc: groups, pretraining_steps, pretraining_epochs,
                   first_model, eta_g, sharing;
                 ifca, ifca-mig: groups, averaging;
                 fesem, fesem-mig: groups, averaging, start;
                 cfl: eps1, eps2, gamma, least, rounds_before, participation;
                 flhc: rounds_before, groups, threshold, metric, linkage,
                   sample
      local      epochs or steps, batch, rate, l2, prox
      shift      name, one or a list; others depend on the shifts:
                 swap-all, swap-part, rotation: probability;
                 incremental: schedule;
                 label-permutation: probability, labellings;
                 gradual: probability, duration;
                 recurring: probability, period
      drift      name; others depend on the detector:
                 label-share: fraction, level;
                 wasserstein: threshold;
                 wasserstein-counts: fraction;
                 mmd: level, least, fraction, features, bandwidth
      aggregation name (mean, median, trimmed-mean, krum, multi-krum,
                 geometric-median, clusters); others depend on the rule:
                 trimmed-mean: trim;
                 krum, multi-krum: hostile;
                 geometric-median: iterations, smoothing;
                 clusters: cosine
      guards     norm_bound, norm_action, founder_cosine
      faults     dropout, midway, slowness, time_budget, nan, infinite, huge,
                 misshapen, stale
      attack     name (none, sign-flip, noise, label-flip, drag); others
                 depend on the attack:
                 sign-flip, noise: share, clients, scale;
                 label-flip: share, clients;
                 drag: share, clients, scale, group
      privacy    level (none, client, group), clip, noise, delta, epsilon
      network    nodes, patience, time_limit, updates (float32, float16);
                 of nodes with their own files: clients, shape, classes;
                 all of it only for 'flexcfl federate' and Flower
      run        rounds, cohort, cohorts, seed, evaluate_every,
                 evaluate_clients, device, data, checkpoint_rounds,
                 checkpoint_seconds, checkpoint_share

    With arrivals some clients appear later: --set 'data.arrivals=[{round=100,share=0.2}]' holds
    back a fifth of them until round 100, and their accuracy is reported by itself. The traffic of
    founding groups, before the first round, is counted with that round in rounds.csv. Where there
    are very many clients, --set run.evaluate_clients=1000 evaluates on that many of them, drawn
    once; accuracy is then over those of the sample that have a group, counted as tested.

    Clients may fail and attack: --set faults.dropout=0.3 lets each be away in three of ten rounds,
    --set attack.name=sign-flip --set attack.share=0.2 makes a fifth of them hostile, and --set
    aggregation.name=multi-krum --set guards.founder_cosine=0.05 is a defence. What the guards turn
    away is counted by reason in rounds.csv. --set privacy.level=client clips and noises updates,
    and summary.json says what epsilon that comes to.

    Ctrl-C ends the round and leaves a checkpoint, from which 'flexcfl resume RUN' goes on; a second
    one stops at once. There are checkpoints every 10 rounds and every 60 seconds as well, whichever
    comes first (run.checkpoint_rounds, run.checkpoint_seconds; 0 turns either off). Those by rounds
    are fewer where they would take more than 2 % of the time (run.checkpoint_share; 1 for never).

    --track tensorboard logs every round for TensorBoard, in the folder tensorboard of the run, and
    --track mlflow for MLflow, as MLFLOW_TRACKING_URI and MLFLOW_EXPERIMENT_NAME say; a run that is
    resumed is given them again. They need flexcfl[tensorboard] and flexcfl[mlflow].
    """  # noqa: D301  (click reads the character as: keep these lines)
    # Late imports: whoever asks for help, or mistypes an option, does not wait for them.
    from rich.console import Console

    from flexcfl.experiment import toml
    from flexcfl.experiment.layers import Layer
    from flexcfl.runner.conduct import conduct
    from flexcfl.runner.tracking import trackers

    file = [Layer("file", toml.read(asked.file))] if asked.file else []
    layers, console = [*file, asked.words], Console(quiet=asked.quiet)
    conduct(
        layers,
        console,
        folder=asked.out or "new",
        file=asked.file,
        stoppable=True,
        callbacks=trackers(asked.track),
    )
