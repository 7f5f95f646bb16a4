"""Readers of CIFAR's layouts, and augmentation."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from qse_papers.images import cropped_and_flipped, erased, mixed, quaternions, read_images

from qse.errors import QseError


def records(path, labels, pixels):
    path.write_bytes(
        b"".join(
            bytes(label) + image.tobytes() for label, image in zip(labels, pixels, strict=True)
        )
    )


@pytest.fixture
def pixels():
    return np.random.default_rng(0).integers(0, 256, (2, 3, 32, 32), dtype=np.uint8)


def test_read_images_of_cifar_10(tmp_path, pixels):
    for n in range(1, 6):
        records(tmp_path / f"data_batch_{n}.bin", [(n,), (0,)], pixels)
    records(tmp_path / "test_batch.bin", [(9,), (3,)], pixels)
    train, test, classes = read_images(tmp_path)
    assert (
        classes == 10
        and train.labels.tolist() == [1, 0, 2, 0, 3, 0, 4, 0, 5, 0]
        and test.labels.tolist() == [9, 3]
    )
    np.testing.assert_array_equal(test.images.numpy(), pixels)


def test_read_images_of_cifar_100_takes_the_fine_label(tmp_path, pixels):
    for name in ("train.bin", "test.bin"):
        records(tmp_path / name, [(19, 99), (3, 7)], pixels)
    train, _, classes = read_images(tmp_path)
    assert classes == 100 and train.labels.tolist() == [99, 7]
    np.testing.assert_array_equal(train.images.numpy(), pixels)


def test_read_images_of_folders(tmp_path, pixels):
    image = pytest.importorskip("PIL.Image")
    for part in ("train", "test"):
        for number, name in enumerate(("cat", "dog")):
            (tmp_path / part / name).mkdir(parents=True)
            image.fromarray(pixels[number].transpose(1, 2, 0)).save(
                tmp_path / part / name / "0001.png"
            )
    train, test, classes = read_images(tmp_path)
    assert classes == 2 and train.labels.tolist() == test.labels.tolist() == [0, 1]
    np.testing.assert_array_equal(train.images.numpy(), pixels)
    (tmp_path / "test" / "dog" / "0001.png").write_bytes(b"no picture")
    with pytest.raises(QseError, match=r"0001.png: not a picture"):
        read_images(tmp_path)


def test_read_images_names_what_is_wrong(tmp_path, pixels):
    with pytest.raises(QseError, match="pickles are not read"):
        read_images(tmp_path)
    records(tmp_path / "train.bin", [(19, 100), (3, 7)], pixels)
    with pytest.raises(QseError, match=r"train.bin: not records"):
        read_images(tmp_path)


def test_quaternions_have_no_real_part():
    x = quaternions(torch.full((1, 3, 32, 32), 255, dtype=torch.uint8))
    assert x.shape == (1, 4, 32, 32) and not x[:, 0].any()
    torch.testing.assert_close(x[:, 1:], torch.full((1, 3, 32, 32), (1 - 0.47) / 0.25))


def test_cropped_and_flipped_moves_whole_pixels():
    x = (
        torch.arange(1.0, 1 + 32 * 32).view(1, 1, 32, 32).expand(64, 2, -1, -1)
        * torch.tensor([1.0, -1.0])[:, None, None]
    )
    y = cropped_and_flipped(x)
    assert y.shape == x.shape and torch.equal(y[:, 0], -y[:, 1])
    for image in y[:, 0]:
        inside = image[4:-4, 4:-4]
        step = inside[0, 1] - inside[0, 0]
        assert abs(step) == 1 and torch.equal(inside.diff(dim=1), torch.full((24, 23), step))
        assert torch.equal(inside.diff(dim=0), torch.full((23, 24), 32.0))
    assert {float(image[16, 17] - image[16, 16]) for image in y[:, 0]} == {-1.0, 1.0}


def test_erased_clears_one_rectangle():
    x = torch.ones(200, 4, 32, 32)
    assert torch.equal(erased(x, 0.0), x)
    y = erased(x, 1.0)
    assert torch.equal(y[:, 0], y[:, 3])
    for holes in y[:, 0] == 0:
        rows = holes.any(1)
        columns = holes.any(0)
        assert 4 <= rows.sum() <= 16 and 4 <= columns.sum() <= 16
        assert torch.equal(holes, rows[:, None] & columns)
    assert 0.1 < (erased(x, 0.25) == 0).flatten(1).any(1).float().mean() < 0.4


def test_mixed_weights_images_and_targets_alike():
    targets = torch.eye(6)
    x, soft = mixed(targets[:, :, None, None], targets, 0.8)
    torch.testing.assert_close(x[:, :, 0, 0], soft)
    torch.testing.assert_close(soft.sum(1), torch.ones(6))
