package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Client tells the cluster of a folder what to do.
type Client struct {
	dir  string
	http http.Client
}

// NewClient does not connect yet.
func NewClient(dir string) (*Client, error) {
	name, err := socketName(dir)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", name)
	}}
	return &Client{dir: dir, http: http.Client{Transport: transport}}, nil
}

// ErrNotRunning says that no cluster listens at the socket.
var ErrNotRunning = errors.New("no cluster runs")

// call posts a request and reads the answer into result, unless that is nil.
func (c *Client) call(ctx context.Context, path string, result any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://cluster"+path, nil)
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err != nil {
		var refused *net.OpError
		if errors.As(err, &refused) && refused.Op == "dial" {
			return fmt.Errorf("%w in %s: start one with `sailor-cluster up --dir %s`", ErrNotRunning, c.dir, c.dir)
		}
		return fmt.Errorf("asking the cluster in %s: %w", c.dir, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("reading the answer of the cluster in %s: %w", c.dir, err)
	}
	if response.StatusCode != http.StatusOK {
		return errors.New(strings.TrimSpace(string(body)))
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(body, result)
}

func (c *Client) onNode(ctx context.Context, node, verb string) error {
	return c.call(ctx, "/nodes/"+url.PathEscape(node)+"/"+verb, nil)
}

// Ready is as in Operations. It also waits for a cluster that has not begun to start yet.
func (c *Client) Ready(ctx context.Context) error {
	for {
		err := c.call(ctx, "/ready", nil)
		if !errors.Is(err, ErrNotRunning) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Nodes, Add, Kill, Start, Freeze, Thaw, Slow, Delete and Preempt are as in Operations.
func (c *Client) Nodes(ctx context.Context) (nodes []Node, err error) {
	err = c.call(ctx, "/nodes", &nodes)
	return nodes, err
}

func (c *Client) Add(ctx context.Context, pool string) (name string, err error) {
	err = c.call(ctx, "/pools/"+url.PathEscape(pool)+"/add", &name)
	return name, err
}

func (c *Client) Kill(ctx context.Context, node string) error   { return c.onNode(ctx, node, "kill") }
func (c *Client) Start(ctx context.Context, node string) error  { return c.onNode(ctx, node, "start") }
func (c *Client) Freeze(ctx context.Context, node string) error { return c.onNode(ctx, node, "freeze") }
func (c *Client) Thaw(ctx context.Context, node string) error   { return c.onNode(ctx, node, "thaw") }
func (c *Client) Delete(ctx context.Context, node string) error { return c.onNode(ctx, node, "delete") }

func (c *Client) Preempt(ctx context.Context, node string, grace time.Duration) error {
	return c.onNode(ctx, node, "preempt?"+url.Values{"grace": {grace.String()}}.Encode())
}

func (c *Client) Slow(ctx context.Context, node string, factor float64) error {
	return c.onNode(ctx, node, "slow?"+url.Values{"factor": {strconv.FormatFloat(factor, 'g', -1, 64)}}.Encode())
}

// Pools, SetStock and SetUnlimitedStock are as in Operations.
func (c *Client) Pools(ctx context.Context) (pools []Pool, err error) {
	err = c.call(ctx, "/pools", &pools)
	return pools, err
}

func (c *Client) SetStock(ctx context.Context, pool string, machines int) error {
	return c.call(ctx, "/pools/"+url.PathEscape(pool)+"/stock?"+url.Values{"machines": {strconv.Itoa(machines)}}.Encode(), nil)
}

func (c *Client) SetUnlimitedStock(ctx context.Context, pool string) error {
	return c.call(ctx, "/pools/"+url.PathEscape(pool)+"/stock", nil)
}

// Stop ends the cluster and returns when it has ended. One that does not run has ended.
func (c *Client) Stop(ctx context.Context) error {
	err := c.call(ctx, "/stop", nil)
	if errors.Is(err, ErrNotRunning) || ctx.Err() == nil && err != nil { // the connection ended with the cluster
		return nil
	}
	return err
}
