package kubelet

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/godbus/dbus/v5"
)

// serveLogind is as much of D-Bus and systemd-logind as the kubelet's graceful node shutdown asks for.
// The function returned announces the shutdown and returns when the kubelet lets it go on.
func serveLogind(socket string, inhibitDelay time.Duration) (shutdown func(), err error) {
	os.Remove(socket)
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	l := &logind{delay: inhibitDelay}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go l.serve(conn)
		}
	}()
	return l.shutdown, nil
}

type logind struct {
	delay time.Duration

	mu       sync.Mutex
	conn     net.Conn
	last     *dbus.Message // the latest message from the kubelet
	released *os.File      // reads end of file once the kubelet has closed its inhibitor lock
}

func (l *logind) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	in.ReadByte() // the zero byte with credentials
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimSpace(line)
		reply := "ERROR" // the reply to other commands, such as NEGOTIATE_UNIX_FD
		switch {
		case line == "BEGIN":
			l.serveMessages(conn, in)
			return
		case line == "AUTH":
			reply = "REJECTED EXTERNAL"
		case strings.HasPrefix(line, "AUTH EXTERNAL"):
			reply = "OK 0123456789abcdef0123456789abcdef"
		}
		io.WriteString(conn, reply+"\r\n")
	}
}

func (l *logind) serveMessages(conn net.Conn, in io.Reader) {
	for {
		message, err := dbus.DecodeMessage(in)
		if err != nil {
			return
		}
		if message.Type != dbus.TypeMethodCall {
			continue
		}
		var body []any
		switch message.Headers[dbus.FieldMember].Value() {
		case "Hello":
			body = []any{":1.1"}
		case "Get": // InhibitDelayMaxUSec
			body = []any{dbus.MakeVariant(uint64(l.delay / time.Microsecond))}
		case "Inhibit":
			// The kubelet is in this process, so that the number of a file descriptor is as good as passing one.
			var pipe [2]int
			if err := syscall.Pipe2(pipe[:], syscall.O_CLOEXEC); err != nil {
				return
			}
			l.mu.Lock()
			l.conn, l.released = conn, os.NewFile(uintptr(pipe[0]), "inhibitor")
			l.mu.Unlock()
			body = []any{uint32(pipe[1])}
		}
		l.send(conn, message, dbus.TypeMethodReply, map[dbus.HeaderField]dbus.Variant{dbus.FieldReplySerial: dbus.MakeVariant(message.Serial())}, body)
	}
}

// send writes over a received message, for its serial number: the package does not let one be set.
func (l *logind) send(conn net.Conn, m *dbus.Message, kind dbus.Type, headers map[dbus.HeaderField]dbus.Variant, body []any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(body) > 0 {
		headers[dbus.FieldSignature] = dbus.MakeVariant(dbus.SignatureOf(body...))
	}
	m.Type, m.Headers, m.Body = kind, headers, body
	m.EncodeTo(conn, binary.LittleEndian)
	l.last = m
}

func (l *logind) shutdown() {
	l.mu.Lock()
	conn, message, released := l.conn, l.last, l.released
	l.mu.Unlock()
	if conn == nil {
		return
	}
	l.send(conn, message, dbus.TypeSignal, map[dbus.HeaderField]dbus.Variant{
		dbus.FieldPath:      dbus.MakeVariant(dbus.ObjectPath("/org/freedesktop/login1")),
		dbus.FieldInterface: dbus.MakeVariant("org.freedesktop.login1.Manager"),
		dbus.FieldMember:    dbus.MakeVariant("PrepareForShutdown"),
	}, []any{true})
	released.Read(make([]byte, 1))
}
