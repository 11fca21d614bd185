package ops

// Clusters of points.
var (
	NearestNeighbors             = define("NearestNeighbors(points: float32, centers: float32, k: int64) -> nearest_center_indices: int64, nearest_center_distances: float32").grows()
	KmeansPlusPlusInitialization = define("KmeansPlusPlusInitialization(points: float32, num_to_sample: int64, seed: int64, num_retries_per_sample: int64) -> samples: float32")
	KMC2ChainInitialization      = define("KMC2ChainInitialization(distances: float32, seed: int64) -> index: int64")
)
