"""Image classifiers: counts of the papers, patches, sizes of the grid."""

import pytest

torch = pytest.importorskip("torch")

from qse_papers.networks.vision import ResNetTransformer, VisionTransformer, image_classifier
from tensors import count


def test_vision_transformer_parameters_are_those_of_table_6():
    with torch.device("meta"):
        assert count(VisionTransformer("real", 10)) == 1_409_610
        assert count(VisionTransformer("quaternion", 10)) == 371_274


@pytest.mark.parametrize(
    "arm, parameters",
    [
        ("shared", 1_735_012),
        ("hamilton", 1_735_012),
        ("convolution", 1_931_620),
        ("real", 6_811_684),
    ],
)
def test_resnet_transformer_has_about_1_7_million_parameters(arm, parameters):
    """Appendix E.1 says "approximately 1.7 M"; widths of the later stages are not given."""
    with torch.device("meta"):
        assert count(ResNetTransformer(arm, 100)) == parameters


@pytest.mark.parametrize(
    "arm", ["shared", "hamilton", "convolution", "real", "vit", "vit-quaternion"]
)
def test_image_classifier_sees_every_colour(arm):
    torch.manual_seed(0)
    network = image_classifier(arm, 7, 0.05).eval()
    x = torch.randn(2, 4, 32, 32)
    x[:, 0] = 0
    y = network(x)
    assert y.shape == (2, 7)
    for colour in (1, 2, 3):
        changed = x.clone()
        changed[0, colour] += 1
        z = network(changed)
        assert not torch.allclose(z[0], y[0], atol=1e-4)
        torch.testing.assert_close(z[1], y[1], atol=1e-4, rtol=1e-4)


def test_vision_transformer_cuts_patches_of_4_by_4():
    network = VisionTransformer("real", 3, dim=8, feed=8, layers=1, heads=2)
    seen = []
    network.patch.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    x = torch.arange(4 * 32 * 32.0).view(1, 4, 32, 32)
    network(x)
    assert seen[0].shape == (1, 64, 48)
    assert torch.equal(seen[0][0, 9].view(3, 4, 4), x[0, 1:, 4:8, 4:8])
