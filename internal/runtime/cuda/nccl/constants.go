package nccl

import "github.com/goestimator/goestimator/tensor"

// Numbers of nccl.h; a test compares them with the header.
const (
	typeInt64    = 4 // ncclInt64
	typeFloat32  = 7 // ncclFloat32
	typeFloat64  = 8 // ncclFloat64
	typeBFloat16 = 9 // ncclBfloat16

	operationSum = 0 // ncclSum

	idBytes     = 128 // NCCL_UNIQUE_ID_BYTES
	configMagic = 0xcafebeef

	// leastVersion is the version of config's layout, and the oldest usable library: 2.17.
	leastVersion = 21700
)

var types = map[tensor.DType]uintptr{tensor.Int64: typeInt64, tensor.Float32: typeFloat32, tensor.Float64: typeFloat64, tensor.BFloat16: typeBFloat16}

// undefined is NCCL_CONFIG_UNDEF_INT.
const undefined = -1 << 31

// config is ncclConfig_t as of 2.17.
type config struct {
	size                                 uint64
	magic, version                       uint32
	blocking, cluster, leastCTA, mostCTA int32
	net                                  uintptr
	splitShare                           int32
	_                                    int32
}
