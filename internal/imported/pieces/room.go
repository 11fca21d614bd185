package pieces

// Room is called before bytes are allocated: it fails if there is no room for them, or if the request has ended. nil grants all.
type Room func(bytes int) error

func (r Room) take(bytes int) error {
	if r == nil {
		return nil
	}
	return r(bytes)
}
