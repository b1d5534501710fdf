"""Point clouds of different sizes: lists of them, and one tensor with all their points."""

from pointforms.clouds.clouds import Clouds
from pointforms.clouds.given_clouds import as_clouds, check_each, cloud_list, plain_clouds

__all__ = ["Clouds", "as_clouds", "check_each", "cloud_list", "plain_clouds"]
