package ops

import "strings"

// Ops of imported graphs that no backend computes: what their outputs are is known, so that a graph with them can be read,
// and they can be named.
func init() {
	for _, line := range strings.Split(strings.TrimSpace(known), "\n") {
		defineLine(line)
	}
}

const known = `
AssignVariableXlaConcatND(resource: resource, inputs: N*T)
BatchFunction(in_tensors: [Tin], captured_tensors: [Tcaptured]) -> out_tensors: [Tout]
BoostedTreesQuantileStreamResourceFlush(quantile_stream_resource_handle: resource, num_buckets: int64)
CudnnRNN(input: T, input_h: T, input_c: T, params: T) -> output: T, output_h: T, output_c: T, reserve_space: T
CudnnRNNV3(input: T, input_h: T, input_c: T, params: T, sequence_lengths: int32) -> output: T, output_h: T, output_c: T, reserve_space: T, host_reserved: int8
EagerPyFunc(input: [Tin]) -> output: [Tout]
Enter(data: T) -> output: T
Exit(data: T) -> output: T
ImmutableConst() -> tensor: dtype
LoopCond(input: bool) -> output: bool
MaxPoolGradGrad(orig_input: T, orig_output: T, grad: T) -> output: T
Merge(inputs: N*T) -> output: T, value_index: int32
NextIteration(data: T) -> output: T
PartitionedCall(args: [Tin]) -> output: [Tout]
PyFunc(input: [Tin]) -> output: [Tout]
PyFuncStateless(input: [Tin]) -> output: [Tout]
ReadVariableXlaSplitND(resource: resource) -> outputs: N*T
RefEnter(data: &T) -> output: &T
RefExit(data: &T) -> output: &T
RefMerge(inputs: &N*T) -> output: &T, value_index: int32
RefNextIteration(data: &T) -> output: &T
RefSwitch(data: &T, pred: bool) -> output_false: &T, output_true: &T
StatefulPartitionedCall(args: [Tin]) -> output: [Tout]
Switch(data: T, pred: bool) -> output_false: T, output_true: T
_SwitchN(data: T, output_index: int32) -> outputs: num_outs*T
Unbatch(batched_tensor: T, batch_index: int64, id: int64) -> unbatched_tensor: T
XlaCallModule(args: [Tin]) -> output: [Tout]
XlaSharding(input: T) -> output: T
_HostRecv() -> tensor: tensor_type
_HostSend(tensor: T)
_ListToArray(input: [Tin]) -> output: N*T
_Recv() -> tensor: tensor_type
_Send(tensor: T)
`
