package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/goestimator/goestimator/estimator"
)

// The limits of a notification, which must not delay the end of the process.
const (
	notifyTries   = 3
	notifyTimeout = 5 * time.Second // of one attempt
	notifyPause   = time.Second     // between attempts
)

// notification is the JSON sent to run.notify.
type notification struct {
	Event string `json:"event"` // finished, failed or interrupted
	jsonSummary
	Error    string  `json:"error,omitempty"`
	ExitCode int     `json:"exit_code"`
	Seconds  float64 `json:"seconds"` // of this process
}

// notify reports the end of training to run.notify. Errors are logged as warnings, without the address, which may contain a key.
func (a *app) notify(ctx context.Context, j *job, res estimator.Result, began time.Time, err error) {
	address := j.cfg.Run.Notify
	if address == "" || !j.est.Config().IsChief() {
		return
	}
	n := notification{Event: "finished", jsonSummary: newSummary(j, res).json(), ExitCode: estimator.ExitCode(err), Seconds: time.Since(began).Seconds()}
	if err != nil {
		n.Event, n.Error = "failed", oneLine(err)
		if errors.Is(err, estimator.ErrInterrupted) {
			n.Event = "interrupted"
		}
	}
	body, err := json.Marshal(n)
	if err == nil {
		err = postJSON(context.WithoutCancel(ctx), address, body)
	}
	if err != nil {
		a.log.Warn("run.notify was not told of the end", "error", oneLine(err))
	}
}

// errRefused is a response that another attempt would not change.
var errRefused = errors.New("refused")

// postJSON sends JSON, and tries again if the receiver does not respond or is busy.
func postJSON(ctx context.Context, address string, body []byte) (err error) {
	client := &http.Client{Timeout: notifyTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	for try := range notifyTries {
		if try > 0 {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(notifyPause):
			}
		}
		if err = postOnce(ctx, client, address, body); err == nil || errors.Is(err, errRefused) {
			return err
		}
	}
	return fmt.Errorf("%d tries: %w", notifyTries, err)
}

func postOnce(ctx context.Context, client *http.Client, address string, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%w: not an address", errRefused)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "goestimator")
	reply, err := client.Do(r)
	if err != nil {
		if of := new(url.Error); errors.As(err, &of) { // its message contains the address
			err = of.Err
		}
		return err
	}
	defer reply.Body.Close()
	switch code := reply.StatusCode; {
	case code >= 200 && code < 300:
		return nil
	case code == http.StatusTooManyRequests || code >= 500:
		return fmt.Errorf("answer %s", reply.Status)
	default:
		return fmt.Errorf("%w: answer %s", errRefused, reply.Status)
	}
}
