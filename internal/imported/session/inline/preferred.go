package inline

import (
	"cmp"
	"maps"
	"slices"

	"github.com/wamuir/graft/tensorflow/core/framework/op_def_go_proto"
)

// preferCPU makes calls of a function with several implementations reach the one for CPUs, as TensorFlow's implementation selector does.
// These functions have the same attribute api_implements, and api_preferred_device names the device of each.
func preferCPU(functions map[string]*function) {
	best := map[string]*function{}
	named := slices.SortedFunc(maps.Values(functions), func(a, b *function) int {
		return cmp.Compare(a.GetSignature().GetName(), b.GetSignature().GetName())
	})
	for _, fn := range named {
		if group := implements(fn); group != "" && best[group] == nil && preferredDevice(fn) == "CPU" {
			best[group] = fn
		}
	}
	for name, fn := range functions {
		if b := best[implements(fn)]; b != nil && preferredDevice(fn) != "CPU" && sameSignature(fn, b) {
			functions[name] = b
		}
	}
}

// implements returns the group that fn belongs to, or "". Functions with gradients have their own counterparts, and are left alone.
func implements(fn *function) string {
	attrs := fn.GetAttr()
	if attrs["forward_function_name"] != nil || attrs["backward_function_name"] != nil {
		return ""
	}
	return string(attrs["api_implements"].GetS())
}

func preferredDevice(fn *function) string {
	return string(fn.GetAttr()["api_preferred_device"].GetS())
}

// sameSignature reports whether calls of a can become calls of b: arguments and results are matched by position.
func sameSignature(a, b *function) bool {
	s, t := a.GetSignature(), b.GetSignature()
	return slices.EqualFunc(s.GetInputArg(), t.GetInputArg(), sameType) && slices.EqualFunc(s.GetOutputArg(), t.GetOutputArg(), sameType)
}

func sameType(a, b *op_def_go_proto.OpDef_ArgDef) bool {
	return a.GetType() == b.GetType() && a.GetTypeAttr() == b.GetTypeAttr() && a.GetNumberAttr() == b.GetNumberAttr() && a.GetTypeListAttr() == b.GetTypeListAttr()
}
