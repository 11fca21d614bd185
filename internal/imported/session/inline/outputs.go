package inline

import (
	"fmt"
	"strings"
)

// outputNames lists the outputs of ops that have more than one (core/ops/*.cc of TensorFlow 2.18), since functions name
// them. "name*N" is as many tensors as attribute N says, "name[T]" as many as the list attribute T has entries.
const outputNames = `
TopK: values indices
TopKV2: values indices
Unique: y idx
UniqueV2: y idx
UniqueWithCounts: y idx count
UniqueWithCountsV2: y idx count
ListDiff: out idx
Switch: output_false output_true
RefSwitch: output_false output_true
Merge: output value_index
RefMerge: output value_index
BroadcastGradientArgs: r0 r1
SoftmaxCrossEntropyWithLogits: loss backprop
SparseSoftmaxCrossEntropyWithLogits: loss backprop
FusedBatchNorm: y batch_mean batch_variance reserve_space_1 reserve_space_2
FusedBatchNormV2: y batch_mean batch_variance reserve_space_1 reserve_space_2
FusedBatchNormV3: y batch_mean batch_variance reserve_space_1 reserve_space_2 reserve_space_3
MaxPoolWithArgmax: output argmax
Svd: s u v
StringSplit: indices values shape
StringSplitV2: indices values shape
SparseFillEmptyRows: output_indices output_values empty_row_indicator reverse_index_map
SparseReshape: output_indices output_shape
SparseConcat: output_indices output_values output_shape
SparseSlice: output_indices output_values output_shape
SparseAdd: sum_indices sum_values sum_shape
SparseReorder: output_indices output_values
SparseCross: output_indices output_values output_shape
SparseCrossV2: output_indices output_values output_shape
SparseCrossHashed: output_indices output_values output_shape
SparseSplit: output_indices*num_split output_values*num_split output_shape*num_split
DeserializeSparse: sparse_indices sparse_values sparse_shape
LookupTableExport: keys values
LookupTableExportV2: keys values
RaggedRange: rt_nested_splits rt_dense_values
RaggedGather: output_nested_splits*OUTPUT_RAGGED_RANK output_dense_values
RaggedTensorToSparse: sparse_indices sparse_values sparse_dense_shape
RaggedTensorFromVariant: output_nested_splits*output_ragged_rank output_dense_values
RaggedCross: output_values output_row_splits
StringNGrams: ngrams ngrams_splits
UnicodeDecode: row_splits char_values
UnicodeDecodeWithOffsets: row_splits char_values char_to_byte_starts
TensorListPopBack: output_handle tensor
TensorListConcat: tensor lengths
TensorListConcatV2: tensor lengths
TensorArrayV3: handle flow
TensorArrayConcatV3: value lengths
NonMaxSuppressionV4: selected_indices valid_outputs
NonMaxSuppressionV5: selected_indices selected_scores valid_outputs
CombinedNonMaxSuppression: nmsed_boxes nmsed_scores nmsed_classes valid_detections
ParseExample: sparse_indices*Nsparse sparse_values[sparse_types] sparse_shapes*Nsparse dense_values[Tdense]
ParseExampleV2: sparse_indices*num_sparse sparse_values[sparse_types] sparse_shapes*num_sparse dense_values[Tdense] ragged_values[ragged_value_types] ragged_row_splits[ragged_split_types]
ParseSingleExample: sparse_indices*num_sparse sparse_values[sparse_types] sparse_shapes*num_sparse dense_values[Tdense]
DynamicPartition: outputs*num_partitions
BoostedTreesQuantileStreamResourceFlush: summaries
Unbatch: unbatched_tensor
CTCGreedyDecoder: decoded_indices decoded_values decoded_shape log_probability
LSTMBlockCell: i cs f o ci co h
BlockLSTM: i cs f o ci co h
BlockLSTMV2: i cs f o ci co h
CudnnRNN: output output_h output_c reserve_space
CudnnRNNV3: output output_h output_c reserve_space host_reserved
DenseCountSparseOutput: output_indices output_values output_dense_shape
SparseCountSparseOutput: output_indices output_values output_dense_shape
RaggedCountSparseOutput: output_indices output_values output_dense_shape
SampleDistortedBoundingBoxV2: begin size bboxes
FakeQuantWithMinMaxVarsGradient: backprops_wrt_input backprop_wrt_min backprop_wrt_max
QuantizeV2: output output_min output_max
`

type outputName struct{ name, count, list string }

var outputsByOp = parseOutputNames()

func parseOutputNames() map[string][]outputName {
	table := map[string][]outputName{}
	for _, line := range strings.Split(strings.TrimSpace(outputNames), "\n") {
		op, names, _ := strings.Cut(line, ":")
		for _, s := range strings.Fields(names) {
			o := outputName{name: s}
			if name, count, ok := strings.Cut(s, "*"); ok {
				o = outputName{name: name, count: count}
			} else if name, list, ok := strings.Cut(s, "["); ok {
				o = outputName{name: name, list: strings.TrimSuffix(list, "]")}
			}
			table[op] = append(table[op], o)
		}
	}
	return table
}

// outputOffset returns the position of the first tensor of a node's output of the given name. Ops outside of the table
// have one output, of whatever name.
func outputOffset(n *nodeDef, name string) (int, error) {
	outs, ok := outputsByOp[n.GetOp()]
	if !ok {
		return 0, nil
	}
	at := 0
	for _, o := range outs {
		if o.name == name {
			return at, nil
		}
		switch {
		case o.count != "":
			at += int(n.GetAttr()[o.count].GetI())
		case o.list != "":
			at += len(n.GetAttr()[o.list].GetList().GetType())
		default:
			at++
		}
		if at < 0 || at > maxNodes {
			return 0, fmt.Errorf("op %s: output %q: more tensors than expected", n.GetOp(), name)
		}
	}
	return 0, fmt.Errorf("op %s has no output %q", n.GetOp(), name)
}
