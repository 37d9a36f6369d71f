"""The paper's experiments by name; each preset is its sibling with some fields replaced."""

from difflib import get_close_matches

from stawm.errors import UsageError
from stawm.experiments import fast, laptop, mnist, natural
from stawm.experiments.experiment import Experiment

PRESETS = {
    experiment.name: experiment
    for experiment in (
        mnist.MNIST_CLASSIFY_8,
        mnist.MNIST_CLASSIFY_28,
        fast.MNIST_CLASSIFY_8_FAST,
        mnist.MNIST_DRAW_4,
        mnist.MNIST_DRAW_6,
        fast.MNIST_DRAW_6_FAST,
        mnist.MNIST_DRAW_8,
        mnist.MNIST_SELF_SUPERVISED,
        mnist.MNIST_SKETCHPAD,
        fast.MNIST_SKETCHPAD_FAST,
        natural.CIFAR10_CLASSIFY_MOBILENET,
        natural.CIFAR10_DRAW_16,
        fast.CIFAR10_DRAW_16_FAST,
        natural.CIFAR10_VAE,
        fast.CIFAR10_VAE_FAST,
        natural.CIFAR10_SELF_SUPERVISED,
        natural.CIFAR10_VAE_SELF_SUPERVISED,
        natural.CELEBA_DRAW_32,
        laptop.MNIST_5K_CLASSIFY,
        laptop.MNIST_5K_DRAW,
        laptop.MNIST_5K_SELF_SUPERVISED,
        laptop.MNIST_5K_SKETCHPAD,
    )
}


def preset(name: str) -> Experiment:
    """The preset of that name; an unknown name is a `UsageError` that offers the nearest."""
    if name in PRESETS:
        return PRESETS[name]
    near = get_close_matches(name, PRESETS, n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    raise UsageError(f"there is no preset {name!r}; {hint}`stawm presets` lists them: {', '.join(PRESETS)}")
