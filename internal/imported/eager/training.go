package eager

import "github.com/goestimator/goestimator/internal/compiler/ops"

// trainingOps are ops of training graphs and initializers; the gradients of elements and windows are elsewhere.
var trainingOps = map[*ops.Def]maker{
	ops.StridedSliceGrad:           stridedSliceGrad,
	ops.StridedSliceAssign:         stridedSliceAssign,
	ops.ResourceStridedSliceAssign: stridedSliceAssign,
	ops.TensorStridedSliceUpdate:   tensorSliceUpdate,
	ops.ConcatOffset:               concatOffset,
	ops.MirrorPadGrad:              mirrorPadGrad,
	ops.SparseSegmentSumGrad:       sparseSegmentGrad(sumOf),
	ops.SparseSegmentMeanGrad:      sparseSegmentGrad(meanOf),
	ops.SparseSegmentSqrtNGrad:     sparseSegmentGrad(sqrtOf),
	ops.FusedBatchNormGrad:         batchNormGrad,
	ops.FusedBatchNormGradV2:       batchNormGrad,
	ops.FusedBatchNormGradV3:       batchNormGrad,
	ops.LRN:                        localNorm,
	ops.LRNGrad:                    localNormGrad,
	ops.ResizeNearestNeighborGrad:  resizeNearestGrad,
	ops.ResizeBilinearGrad:         resizeBilinearGrad,
	ops.Diag:                       plain(diag),
	ops.DiagPart:                   plain(diagPart),
	ops.AccumulateNV2:              plain(addN),
	ops.InTopK:                     inTopKOf,
	ops.TemporaryVariable:          temporaryVariable,
	ops.DestroyTemporaryVariable:   plain(destroyTemporary),
	ops.DisableCopyOnRead:          plain(func(call) error { return nil }),
	ops.Qr:                         orthogonal,
	ops.MatrixDiagV2:               banded(1, "LEFT_LEFT", matricesOf),
	ops.MatrixDiagV3:               banded(1, "RIGHT_LEFT", matricesOf),
	ops.MatrixDiagPart:             banded(1, "LEFT_LEFT", diagonalsOf),
	ops.MatrixDiagPartV2:           banded(1, "LEFT_LEFT", diagonalsOf),
	ops.MatrixDiagPartV3:           banded(1, "RIGHT_LEFT", diagonalsOf),
	ops.MatrixSetDiag:              banded(2, "LEFT_LEFT", setDiagonals),
	ops.MatrixSetDiagV2:            banded(2, "LEFT_LEFT", setDiagonals),
	ops.MatrixSetDiagV3:            banded(2, "RIGHT_LEFT", setDiagonals),
}
