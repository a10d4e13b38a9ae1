package cloud

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"sailor.dev/tests/cluster/autoscaler"
	"sailor.dev/tests/cluster/config"
	"sailor.dev/tests/cluster/control"
)

// scaler is the autoscaler's state, which the loop and the commands share.
type scaler struct {
	mu    sync.Mutex
	state *autoscaler.Autoscaler
}

func newScaler(c config.Config) *scaler { return &scaler{state: autoscaler.New(c)} }

func (s *scaler) use(use func(*autoscaler.Autoscaler)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	use(s.state)
}

// scalingLoop shows the cluster to the autoscaler and carries out its decisions.
type scalingLoop struct {
	*Cloud
	pods     corelisters.PodLister
	recorder record.EventRecorder
}

// Autoscale runs the autoscaler until ctx ends, if some pool may change its size.
func (c *Cloud) Autoscale(ctx context.Context) {
	if !c.config.Autoscales() {
		return
	}
	factory := informers.NewSharedInformerFactory(c.cp.Client, 0)
	times := c.config.Autoscaler
	loop := &scalingLoop{Cloud: c, pods: factory.Core().V1().Pods().Lister(), recorder: newRecorder(ctx, c.cp.Client, times.Backoff.Value())}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	scan := time.NewTicker(times.ScanInterval.Value())
	defer scan.Stop()
	for ctx.Err() == nil {
		loop.step(ctx)
		select {
		case <-ctx.Done():
		case <-scan.C:
		case <-loop.nextDue():
		}
	}
}

// newRecorder lets one event of each reason about an object through in the given time, with the real autoscaler's options for that
// (utils/kubernetes/factory.go). There the time is five minutes.
func newRecorder(ctx context.Context, client kubernetes.Interface, interval time.Duration) record.EventRecorder {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx), record.WithCorrelatorOptions(record.CorrelatorOptions{
		QPS: float32(1 / interval.Seconds()), BurstSize: 1,
		SpamKeyFunc: func(e *corev1.Event) string {
			return strings.Join([]string{e.Reason, e.InvolvedObject.Kind, e.InvolvedObject.Namespace, e.InvolvedObject.Name,
				string(e.InvolvedObject.UID)}, "/")
		}}))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	return broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: autoscaler.Component})
}

// nextDue gets a value when the cloud answers the next request for machines. It is nil, and blocks, if there is none.
func (l *scalingLoop) nextDue() (answered <-chan time.Time) {
	l.scaler.use(func(a *autoscaler.Autoscaler) {
		if due, exists := a.NextDue(); exists {
			answered = time.After(time.Until(due))
		}
	})
	return answered
}

// step adds the machines that are due before it looks at the cluster, so that they are seen.
func (l *scalingLoop) step(ctx context.Context) {
	pods, _ := l.pods.List(labels.Everything()) // a look into memory, which does not fail
	var due, decision autoscaler.Decision
	l.scaler.use(func(a *autoscaler.Autoscaler) { due = a.Finish(time.Now(), pods) })
	l.carryOut(ctx, due)
	world := autoscaler.World{Now: time.Now(), Machines: l.observedMachines(), Nodes: l.nodes.ready(), Pods: pods}
	l.scaler.use(func(a *autoscaler.Autoscaler) { decision = a.Scan(world) })
	l.carryOut(ctx, decision)
}

func (l *scalingLoop) observedMachines() (machines []autoscaler.Machine) {
	for _, m := range l.list() {
		n := m.describe()
		machines = append(machines, autoscaler.Machine{Name: n.Name, Pool: n.Pool, Running: n.State == control.Running})
	}
	slices.SortFunc(machines, func(a, b autoscaler.Machine) int { return cmp.Compare(a.Name, b.Name) })
	return machines
}

func (l *scalingLoop) carryOut(ctx context.Context, d autoscaler.Decision) {
	for _, pool := range d.Add {
		if _, err := l.Add(ctx, pool); err != nil {
			l.report(ctx, err, "adding a node", pool)
			l.scaler.use(func(a *autoscaler.Autoscaler) { a.BackOff(pool, time.Now()) })
		}
	}
	for _, e := range d.Events {
		l.recorder.Event(e.Pod, e.Type, e.Reason, e.Message)
	}
	for _, node := range d.Mark {
		l.recordAboutNode(node, corev1.EventTypeNormal, autoscaler.ScaleDown, autoscaler.MarkedNode)
		mark := corev1.Taint{Key: autoscaler.TaintToBeDeleted, Value: strconv.FormatInt(time.Now().Unix(), 10), Effect: corev1.TaintEffectNoSchedule}
		l.report(ctx, l.nodes.addTaint(ctx, node, mark), "marking a node", node)
	}
	for _, node := range d.Unmark {
		l.recordAboutNode(node, corev1.EventTypeWarning, autoscaler.ScaleDownFailed, autoscaler.UnmarkedNode)
		l.report(ctx, l.nodes.removeTaint(ctx, node, autoscaler.TaintToBeDeleted), "unmarking a node", node)
	}
	for _, node := range d.Remove {
		l.report(ctx, l.Delete(ctx, node), "removing a node", node)
	}
}

func (l *scalingLoop) recordAboutNode(name, eventType, reason, message string) {
	if node, err := l.nodes.lister.Get(name); err == nil { // else somebody has deleted it
		l.recorder.Event(node, eventType, reason, message)
	}
}

// report logs errors, unless the cluster is being stopped. The next scan decides again.
func (l *scalingLoop) report(ctx context.Context, err error, doing, what string) {
	if err != nil && ctx.Err() == nil {
		klog.ErrorS(err, "the autoscaler failed at "+doing, "name", what)
	}
}
