package cuda

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/fake"
	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
)

// old is a driver of another version.
type old struct {
	driver.Driver
	version int
}

func (o old) Version() (int, error) { return o.version, nil }

func TestExamine(t *testing.T) {
	noDevice := fmt.Errorf("%w: %w", driver.ErrUnavailable, &driver.Error{Call: "cuInit", Code: driver.CodeNoDevice, Name: "CUDA_ERROR_NO_DEVICE"})
	broken := fake.New(fake.Default)
	broken.Inject("Devices", 0, errors.New("boom"))
	for name, c := range map[string]struct {
		d       driver.Driver
		opened  error
		visible []string // CUDA_VISIBLE_DEVICES, if set
		why     string
	}{
		"a GPU":          {fake.New(fake.Default), nil, nil, ""},
		"no library":     {nil, fmt.Errorf("%w: %w", driver.ErrUnavailable, &dylib.NotFoundError{Name: dylib.Driver}), nil, "libcuda.so not found"},
		"static build":   {nil, fmt.Errorf("%w: %w", driver.ErrUnavailable, dylib.ErrNoLoader), nil, "static"},
		"no device":      {nil, noDevice, nil, "CUDA_ERROR_NO_DEVICE"},
		"hidden":         {nil, noDevice, []string{""}, `CUDA_VISIBLE_DEVICES=""`},
		"hidden by -1":   {fake.New(), nil, []string{"-1"}, `CUDA_VISIBLE_DEVICES="-1"`},
		"none at all":    {fake.New(), nil, nil, "no GPU"},
		"old driver":     {old{fake.New(fake.Default), 11020}, nil, nil, "CUDA 11.2, expected 11.4"},
		"devices broken": {broken, nil, nil, "boom"},
	} {
		r := examine(c.d, c.opened, func(string) (string, bool) { return strings.Join(c.visible, ""), c.visible != nil })
		if (c.why == "") != (r.Why == "") || !strings.Contains(r.Why, c.why) || (len(r.GPUs) > 0) != (c.why == "") {
			t.Errorf("%s: expected %q, got %+v", name, c.why, r)
		}
	}
}

func TestDetectNamesEveryLibrary(t *testing.T) {
	r := Detect()
	if len(r.Libraries) != 5 || (r.Why == "") != (len(r.GPUs) > 0) {
		t.Errorf("got %+v", r)
	}
	for _, l := range r.Libraries {
		if (l.Path == "") && l.Why == "" {
			t.Errorf("%s: expected a path or a reason", l.Name)
		}
	}
}
