package libcuda

import (
	"fmt"
	"unsafe"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
)

// api has the functions of libcuda in use, in the versions of drivers since CUDA 11.4.
type api struct {
	init, version, deviceCount, deviceGet, deviceName, deviceMemory, deviceAttribute dylib.Proc
	primaryRetain, primaryRelease, ctxSetCurrent                                     dylib.Proc
	memAlloc, memFree, memInfo, hostAlloc, hostFree                                  dylib.Proc
	copyUp, copyDown, copyWithin, memset                                             dylib.Proc
	streamCreate, streamDestroy, streamSync, streamWait, beginCapture, endCapture    dylib.Proc
	eventCreate, eventDestroy, eventRecord, eventSync, eventElapsed                  dylib.Proc
	moduleLoad, moduleUnload, moduleFunction, functionSet, launch                    dylib.Proc
	graphInstantiate, graphLaunch, graphDestroy, graphExecDestroy                    dylib.Proc
	canAccessPeer, enablePeer, copyPeer                                              dylib.Proc
	errorName, errorString                                                           dylib.Proc
}

func (a *api) symbols() map[string]*dylib.Proc {
	return map[string]*dylib.Proc{
		"cuInit": &a.init, "cuDriverGetVersion": &a.version, "cuDeviceGetCount": &a.deviceCount, "cuDeviceGet": &a.deviceGet,
		"cuDeviceGetName": &a.deviceName, "cuDeviceTotalMem_v2": &a.deviceMemory, "cuDeviceGetAttribute": &a.deviceAttribute,
		"cuDevicePrimaryCtxRetain": &a.primaryRetain, "cuDevicePrimaryCtxRelease_v2": &a.primaryRelease, "cuCtxSetCurrent": &a.ctxSetCurrent,
		"cuMemAlloc_v2": &a.memAlloc, "cuMemFree_v2": &a.memFree, "cuMemGetInfo_v2": &a.memInfo, "cuMemHostAlloc": &a.hostAlloc, "cuMemFreeHost": &a.hostFree,
		"cuMemcpyHtoDAsync_v2": &a.copyUp, "cuMemcpyDtoHAsync_v2": &a.copyDown, "cuMemcpyDtoDAsync_v2": &a.copyWithin, "cuMemsetD8Async": &a.memset,
		"cuStreamCreate": &a.streamCreate, "cuStreamDestroy_v2": &a.streamDestroy, "cuStreamSynchronize": &a.streamSync, "cuStreamWaitEvent": &a.streamWait,
		"cuStreamBeginCapture_v2": &a.beginCapture, "cuStreamEndCapture": &a.endCapture,
		"cuEventCreate": &a.eventCreate, "cuEventDestroy_v2": &a.eventDestroy, "cuEventRecord": &a.eventRecord, "cuEventSynchronize": &a.eventSync, "cuEventElapsedTime": &a.eventElapsed,
		"cuModuleLoadDataEx": &a.moduleLoad, "cuModuleUnload": &a.moduleUnload, "cuModuleGetFunction": &a.moduleFunction,
		"cuFuncSetAttribute": &a.functionSet, "cuLaunchKernel": &a.launch,
		"cuGraphInstantiateWithFlags": &a.graphInstantiate, "cuGraphLaunch": &a.graphLaunch, "cuGraphDestroy": &a.graphDestroy, "cuGraphExecDestroy": &a.graphExecDestroy,
		"cuDeviceCanAccessPeer": &a.canAccessPeer, "cuCtxEnablePeerAccess": &a.enablePeer, "cuMemcpyPeerAsync": &a.copyPeer,
		"cuGetErrorName": &a.errorName, "cuGetErrorString": &a.errorString,
	}
}

// check turns a function's result into an error.
func (a *api) check(call string, result uintptr) error {
	code := driver.Code(int32(result))
	if code == 0 {
		return nil
	}
	var name, text unsafe.Pointer
	a.errorName.Call(uintptr(code), uintptr(unsafe.Pointer(&name)))
	a.errorString.Call(uintptr(code), uintptr(unsafe.Pointer(&text)))
	e := &driver.Error{Call: call, Code: code, Name: cString(name), Text: cString(text)}
	if e.Name == "" {
		e.Name, e.Text = "CUDA error", "unknown to this driver"
	}
	return e
}

// cString copies a C string, "" for NULL.
func cString(p unsafe.Pointer) string {
	if p == nil {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}

// zeroTerminated copies text for C.
func zeroTerminated[S string | []byte](s S) *byte {
	b := make([]byte, len(s)+1)
	copy(b, s)
	return &b[0]
}

// unavailable returns the error for a missing driver.
func unavailable(err error) error { return fmt.Errorf("%w: %w", driver.ErrUnavailable, err) }
