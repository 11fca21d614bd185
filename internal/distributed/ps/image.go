package ps

import "github.com/goestimator/goestimator/tensor"

// image is a copy of a unit's value at one version, which may be sent while the
// unit changes.
type image struct {
	version uint64
	bytes   []byte
	users   int
}

// images are a unit's images: the latest, and memory for new ones and for
// gradients. Concurrent pulls of the same version share an image.
type images struct {
	size   int
	latest *image
	free   [][]byte
}

// maxFree bounds the buffers that a unit keeps.
const maxFree = 2

// image returns a copy of the value, which must be released, or nil if the
// caller has the version.
func (u *unit) image(have uint64) (*image, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if have == u.version {
		return nil, nil
	}
	i := &u.images
	if i.latest == nil || i.latest.version != u.version {
		b := i.acquire()
		if err := u.vars.ReadAt(u.v.Name, b, 0); err != nil {
			return nil, err
		}
		i.latest = &image{version: u.version, bytes: b}
	}
	i.latest.users++
	return i.latest, nil
}

// release returns an image.
func (u *unit) release(m *image) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if m.users--; m.users > 0 {
		return
	}
	if u.images.latest == m {
		u.images.latest = nil
	}
	u.images.release(m.bytes)
}

// acquire returns memory of the size of the value; the unit is locked.
func (i *images) acquire() []byte {
	if n := len(i.free); n > 0 {
		b := i.free[n-1]
		i.free = i.free[:n-1]
		return b
	}
	return tensor.New(tensor.Uint8, i.size).Bytes
}

// release keeps memory for the next acquire; the unit is locked.
func (i *images) release(b []byte) {
	if len(i.free) < maxFree {
		i.free = append(i.free, b)
	}
}
