package config

import (
	"maps"
	"slices"
	"time"

	"github.com/answerback/answerback/internal/secret"
)

// Config is the whole configuration. One that came from Parse or Load is valid
// and is not modified afterwards, so it may be shared between goroutines.
//
// The tags are the single source of what is said about a key: yaml names it,
// doc describes it, enum, min and max bound it, default overrides the text of
// its default in the reference, and restart marks what a reload cannot change.
type Config struct {
	Listen                string             `yaml:"listen" doc:"Address and port to listen on. Port 0 takes any free port." restart:"true"`
	PublicURL             string             `yaml:"public_url" doc:"The address under which people and clients reach the gateway, such as https://mcp.example.com. Links and the Host check are built from it, never from a request header." restart:"true"`
	DataDir               string             `yaml:"data_dir" doc:"Directory for what the gateway keeps. Created with mode 0700. A relative path starts at the configuration file." default:"$XDG_DATA_HOME/answerback, else ~/.local/share/answerback" restart:"true"`
	AllowedHosts          []string           `yaml:"allowed_hosts" doc:"Further values of the Host header to accept, with or without a port." restart:"true"`
	AllowedOrigins        []string           `yaml:"allowed_origins" doc:"Browser origins that may call the endpoint and the event stream, such as https://app.example.com." restart:"true"`
	InsecureOpenToNetwork bool               `yaml:"insecure_open_to_network" doc:"Listen beyond loopback although nobody has to authenticate: whoever reaches the port can use every backend." restart:"true"`
	TrustedProxies        []string           `yaml:"trusted_proxies" doc:"Addresses, or ranges of them, of reverse proxies whose X-Forwarded-For is believed. Forwarded headers of everybody else are dropped." restart:"true"`
	Identity              Identity           `yaml:"identity" doc:"Who may use the gateway, and who sits at the pages." restart:"true"`
	Names                 string             `yaml:"names" doc:"How tools and prompts are named on /mcp: prefix puts the backend's name before them, plain leaves them as they are, auto prefixes when there is more than one backend." enum:"auto,prefix,plain" restart:"true"`
	Log                   Log                `yaml:"log" doc:"What is logged, to standard error." restart:"true"`
	Asks                  Asks               `yaml:"asks" doc:"Questions from servers to people and to clients' models." restart:"true"`
	Journal               Journal            `yaml:"journal" doc:"Where questions are kept that somebody was promised will be kept." restart:"true"`
	Audit                 Audit              `yaml:"audit" doc:"The record of every question and what became of it." restart:"true"`
	Notify                Notify             `yaml:"notify" doc:"Who is told, outside the pages, that a question waits there." restart:"true"`
	Metrics               Metrics            `yaml:"metrics" doc:"Figures for Prometheus." restart:"true"`
	Clients               []Client           `yaml:"clients" doc:"How clients of some name are treated beyond what they declare. The first entry that matches a client counts. A client says its name itself: nothing that must be safe can depend on it." restart:"true"`
	A2A                   A2A                `yaml:"a2a" doc:"The gateway as an agent of the A2A protocol, below /a2a." restart:"true"`
	Events                Events             `yaml:"events" doc:"The event stream for chat front ends, below /events." restart:"true"`
	Limits                Limits             `yaml:"limits" doc:"Bounds on what clients and servers may use." restart:"true"`
	Backends              map[string]Backend `yaml:"backends" doc:"The servers behind the gateway, by name. A name has 1 to 24 of the characters a-z, 0-9 and -." keys:"^[a-z0-9-]{1,24}$"`

	// dataDirChosen is set where the file does not name the data directory.
	dataDirChosen bool
	// fromEnv names the environment variable for each key whose value came
	// from one of another gateway.
	fromEnv map[string]string
	source  *source // nil where the configuration did not come from a file
}

// Log says what is logged.
type Log struct {
	Level  string `yaml:"level" doc:"The least severity that is logged." enum:"debug,info,warn,error"`
	Format string `yaml:"format" doc:"text for people, json for machines." enum:"text,json"`
}

// Asks bounds the questions that servers ask.
type Asks struct {
	Enabled             bool          `yaml:"enabled" doc:"The master switch. When false, servers are told that no client can be asked anything."`
	Timeout             time.Duration `yaml:"timeout" doc:"How long a person has to answer." min:"1s" max:"30d"`
	WarnBefore          time.Duration `yaml:"warn_before" doc:"How long before the end somebody is warned that time is nearly up." min:"1s" max:"1d"`
	Extension           time.Duration `yaml:"extension" doc:"How much longer a question waits each time that somebody asks for more time." min:"1s" max:"1d"`
	MaxExtensions       int           `yaml:"max_extensions" doc:"How often a program may ask for more time for one question." min:"0" max:"1000"`
	MaxPageExtensions   int           `yaml:"max_page_extensions" doc:"How often a person may, at its page. Fewer than 10 shut out people who need longer (WCAG 2.2.1)." min:"0" max:"1000"`
	Attempts            int           `yaml:"attempts" doc:"How many answers that do not fit a question are sent back to be put right; one more ends it." min:"1" max:"1000"`
	MaxFieldLength      int           `yaml:"max_field_length" doc:"Most characters of a text that is typed into a field, whatever its form allows." min:"1" max:"500000"`
	SamplingTimeout     time.Duration `yaml:"sampling_timeout" doc:"How long a client's model has to answer." min:"1s" max:"1d"`
	ConnectTimeout      time.Duration `yaml:"connect_timeout" doc:"How long a person has to connect an account." min:"1s" max:"30d"`
	MaxOpen             int           `yaml:"max_open" doc:"Most questions open at once." min:"1" max:"10000000"`
	MaxOpenPerSession   int           `yaml:"max_open_per_session" doc:"Most questions open at once in one client session." min:"1" max:"1000000"`
	MaxOpenPerPrincipal int           `yaml:"max_open_per_principal" doc:"Most questions open at once for one principal." min:"1" max:"10000000"`
	RatePerMinute       int           `yaml:"rate_per_minute" doc:"Questions a minute that one backend may put to one principal, on average." min:"1" max:"1000000"`
	Burst               int           `yaml:"burst" doc:"Questions that one backend may put to one principal at once, before the rate applies." min:"1" max:"1000000"`
	SecretsToClients    bool          `yaml:"secrets_to_clients" doc:"Send MCP clients the values of sensitive fields in forms that they created, once, in notifications/elicitation/complete. By default the gateway refuses such a form when an MCP client creates it; programs create it with POST /v1/forms and collect the values there."`
	Files               Files         `yaml:"files" doc:"Files that people give with their answers. They are kept sealed in the journal."`
}

// Files bounds the files that people give.
type Files struct {
	MaxSize   Size          `yaml:"max_size" doc:"Largest single file. A form may take less, never more." min:"1KiB" max:"1GiB"`
	MaxPerAsk Size          `yaml:"max_per_ask" doc:"Most that all files of one question may have together." min:"1KiB" max:"4GiB"`
	MaxTotal  Size          `yaml:"max_total" doc:"Most that all files may have together that this gateway keeps at once; never more than half of an own store." min:"1MiB" max:"1024GiB"`
	Draft     time.Duration `yaml:"draft" doc:"How long a file that was uploaded waits for its answer to be sent." min:"1m" max:"30d"`
	Keep      time.Duration `yaml:"keep" doc:"How long the server that asked can fetch a file after the answer was sent." min:"1m" max:"30d"`
	Fetches   int           `yaml:"fetches" doc:"How often it can fetch it." min:"1" max:"1000"`
}

// Notify says who is told that a question waits on a page.
type Notify struct {
	Webhook           secret.Text `yaml:"webhook" doc:"Address that is posted to when a question waits on a page, with a link and without the question's words. Empty means nobody is told. Never shown, since such addresses often are keys themselves."`
	Secret            secret.Text `yaml:"secret" doc:"What the posts are signed with, at least 16 characters; after whsec_ it is taken as base64. Never shown."`
	InsecureAllowHTTP bool        `yaml:"insecure_allow_http" doc:"Post over plain http also beyond this machine: whoever is on the way learns who is asked by which server."`
}

// Journal says where the durable record is. Without a URL it is in the data
// directory, and belongs to this process alone.
type Journal struct {
	URL             string        `yaml:"url" doc:"Addresses of a NATS cluster with JetStream, joined by commas, such as tls://nats-1:4222. Needed for several gateways over one store." default:"an own store in data_dir"`
	InMemory        bool          `yaml:"in_memory" doc:"Keep nothing across a restart: for gateways that have no disk. Open questions, sessions and the audit end with the process."`
	Replicas        int           `yaml:"replicas" doc:"How many servers of the cluster keep a copy: 1, 3 or 5. It counts when the store is made." min:"1" max:"5"`
	MaxBytes        Size          `yaml:"max_bytes" doc:"Most disk that an own store uses." min:"256MiB" max:"4096GiB"`
	CAFile          string        `yaml:"ca_file" doc:"File with the authorities that sign the servers' certificates."`
	CertFile        string        `yaml:"cert_file" doc:"File with the gateway's own certificate."`
	KeyFile         string        `yaml:"key_file" doc:"File with the key of that certificate."`
	NKeyFile        string        `yaml:"nkey_file" doc:"File with the nkey seed to authenticate with."`
	CredentialsFile string        `yaml:"credentials_file" doc:"File with the credentials to authenticate with."`
	Keep            time.Duration `yaml:"keep" doc:"How long a question is remembered after it has ended, for whoever comes back to its page." min:"1m" max:"90d"`
}

// Audit bounds the audit.
type Audit struct {
	Keep     time.Duration `yaml:"keep" doc:"How long records are kept." min:"1h" max:"3650d"`
	MaxBytes Size          `yaml:"max_bytes" doc:"Most disk that the records use; the oldest go first." min:"1MiB" max:"1024GiB"`
}

// Metrics says where figures are served.
type Metrics struct {
	Listen string `yaml:"listen" doc:"Address and port on which /metrics, /healthz and /readyz are served to whoever reaches them; they name backends, and nobody. Empty means nowhere, but for the health checks, which the main address has too."`
}

// Client is a rule for clients of some name.
type Client struct {
	Name           string        `yaml:"name" doc:"Pattern for what the client calls itself, in which * stands for any characters and ? for one."`
	Version        string        `yaml:"version" doc:"Pattern for its version. Empty means all."`
	Hold           time.Duration `yaml:"hold" doc:"How long a call is held while its person answers on a page, for a client that can show neither forms nor links; it must want to hear of progress. 0 means that the call ends at once and is to be repeated. Never longer than the client waits." min:"0s" max:"1d"`
	Timer          time.Duration `yaml:"timer" doc:"How long the client waits for a call. 0 means what is known of it, or else 60 seconds." min:"0s" max:"1d"`
	InstantDecline time.Duration `yaml:"instant_decline" doc:"A form that the client declines or cancels sooner than this was never shown to anybody: it goes on to its page. 0 means that the client is believed." min:"0s" max:"10s"`
}

// Events bounds the calls of event streams.
type Events struct {
	Linger       time.Duration `yaml:"linger" doc:"How long a call goes on whose stream nobody follows, before it is cancelled." min:"1s" max:"1d"`
	Conversation time.Duration `yaml:"conversation" doc:"How long a conversation that makes no call keeps its sessions and processes at backends." min:"1s" max:"1d"`
	Keep         time.Duration `yaml:"keep" doc:"How long a finished call is remembered, for a consumer that comes back for its events or starts it again with the same Idempotency-Key." min:"1s" max:"1d"`
}

// A2A says whether the gateway is an agent, and what its tasks may take.
type A2A struct {
	Enabled     bool          `yaml:"enabled" doc:"Serve the tools to A2A clients, as an agent for all backends and one for each."`
	Keep        time.Duration `yaml:"keep" doc:"How long a task is remembered after it has ended." min:"1m" max:"30d"`
	MaxTasks    int           `yaml:"max_tasks_per_principal" doc:"Most tasks of one principal that have not ended." min:"1" max:"1000000"`
	MaxPast     int           `yaml:"max_kept_per_principal" doc:"Most ended tasks that are remembered for one principal; the oldest go first." min:"1" max:"100000"`
	PushTrusted []string      `yaml:"push_trusted" doc:"Addresses of receivers of push notifications, such as http://hooks.internal:8080, that may be in a private network or without https. All others must be public and https."`
}

// Limits bounds what clients and servers may use.
type Limits struct {
	MessageBytes         Size          `yaml:"message_bytes" doc:"Largest single message, from either side." min:"64KiB" max:"1GiB"`
	BodyBytes            Size          `yaml:"body_bytes" doc:"Largest body of an HTTP request. Not below message_bytes; when left out it grows with it." min:"64KiB" max:"1GiB"`
	BodiesTotal          Size          `yaml:"bodies_total" doc:"Most memory that the bodies of requests take while they are under way, those of calls that wait for people included. Beyond it requests are refused with overloaded. Not below twice bodies_per_principal; when left out it grows with it." min:"256KiB" max:"1024GiB"`
	BodiesPerPrincipal   Size          `yaml:"bodies_per_principal" doc:"The same for one principal, which is refused with too_many_open. Not below twice body_bytes; when left out it grows with it." min:"128KiB" max:"1024GiB"`
	ResponsesTotal       Size          `yaml:"responses_total" doc:"Most memory that messages of backends take from when they are read until the client has them. A response waits for it for a few seconds, and fails with overloaded. Not below twice responses_per_backend; when left out it grows with it." min:"256KiB" max:"1024GiB"`
	ResponsesPerBackend  Size          `yaml:"responses_per_backend" doc:"The same for one backend. Not below four times message_bytes; when left out it grows with it." min:"128KiB" max:"1024GiB"`
	Memory               Size          `yaml:"memory" doc:"Memory that the process may use. With four fifths of it in use, new calls and sessions are refused with overloaded until a third is free. 0 means what GOMEMLIMIT says, or else nine tenths of what its container, or the machine, has." min:"0" max:"1024GiB" default:"what GOMEMLIMIT says, or nine tenths of what the container or the machine has"`
	BodyTime             time.Duration `yaml:"body_time" doc:"Longest that the body of a request may take to come, however steadily it does. An upload of a file is such a body." min:"30s" max:"1d"`
	Sessions             int           `yaml:"sessions" doc:"Most client sessions at once." min:"1" max:"10000000"`
	SessionsPerPrincipal int           `yaml:"sessions_per_principal" doc:"Most client sessions of one principal at once." min:"1" max:"10000000"`
	SessionIdle          time.Duration `yaml:"session_idle" doc:"A session without traffic ends after this time." min:"10s" max:"30d"`
	CallTimeout          time.Duration `yaml:"call_timeout" doc:"How long a backend may work on a call. Time in which a person is being asked does not count." min:"1s" max:"30d"`
	CallCap              time.Duration `yaml:"call_cap" doc:"How long a call may take altogether, waiting for people included." min:"1s" max:"30d"`
	Away                 time.Duration `yaml:"away" doc:"How long a call at a legacy server waits for a modern client that was sent away with a question." min:"10s" max:"30d"`
	Round                time.Duration `yaml:"round" doc:"How long such a client is kept waiting before it is asked to call again; below the clients' own timeouts, which are often 60 seconds." min:"5s" max:"1h"`
	CallsPerSession      int           `yaml:"calls_per_session" doc:"Most calls under way at once in one client session." min:"1" max:"100000"`
	Connections          int           `yaml:"connections" doc:"Most connections of clients and browsers at once." min:"16" max:"10000000"`
	ConnectionsPerPeer   int           `yaml:"connections_per_peer" doc:"Most connections of one address at once. This machine and trusted_proxies are exempt." min:"4" max:"10000000"`
	Drain                time.Duration `yaml:"drain" doc:"How long calls under way may go on at shutdown, or when their backend is taken out by a reload. A shutdown does not wait for calls that wait for kept questions." min:"0s" max:"1h"`
}

// Backend is one server: a program to start, or an address to call.
type Backend struct {
	Command       string                 `yaml:"command" doc:"Program to start and to speak to over standard input and output. Exactly one of command and url is needed."`
	Args          []string               `yaml:"args" doc:"Arguments of the program. Anybody on the machine can read them: secrets belong in env."`
	Env           map[string]secret.Text `yaml:"env" doc:"Environment variables of the program. Values are secret and never shown."`
	Dir           string                 `yaml:"dir" doc:"Directory to start the program in. A relative path starts at the configuration file." default:"the gateway's own"`
	URL           string                 `yaml:"url" doc:"Address of the server, http or https."`
	Transport     string                 `yaml:"transport" doc:"How to speak to the server. auto means stdio for a command; for a url, Streamable HTTP and then the older HTTP+SSE. a2a is an agent that speaks A2A 1.0, whose url is where its agent card is found." enum:"auto,http,sse,stdio,a2a"`
	CardOrigins   []string               `yaml:"card_origins" doc:"Origins beside that of the url to which the card of an A2A agent may send calls, and with them headers and credentials."`
	Headers       map[string]secret.Text `yaml:"headers" doc:"Headers sent with every request to the url. Values are secret and never shown."`
	Grant         Grant                  `yaml:"grant" doc:"Let each person connect an account of their own to this server: calls are made with it, and wait while somebody connects."`
	Tools         Tools                  `yaml:"tools" doc:"Which of the server's tools are offered. A list is short for allow."`
	CallTimeout   time.Duration          `yaml:"call_timeout" doc:"limits.call_timeout for this backend; 0 leaves that in force." min:"0s" max:"30d"`
	Away          time.Duration          `yaml:"away" doc:"limits.away for this backend; 0 leaves that in force." min:"0s" max:"30d"`
	AnsweredBy    string                 `yaml:"answered_by" doc:"The group of identity.groups that answers this server's forms, on the pages, in place of the caller."`
	FormSchema    string                 `yaml:"form_schema" doc:"What becomes of a form whose requestedSchema is not what MCP allows, a flat object of texts, numbers, yes-or-no answers and choices: reject tells the server so, warn passes it on and notes it in the log and the audit, pass passes it on." enum:"reject,warn,pass"`
	Secrets       string                 `yaml:"secrets" doc:"What becomes of a form that asks for a secret, such as a password, a token, a key or a card number: page puts it on a page of the gateway, so that the value passes neither the client nor its model, and refuses it where no page can be opened; refuse refuses it." enum:"page,refuse"`
	TaskWhenAsked bool                   `yaml:"task_when_asked" doc:"Turn a call in which somebody is asked into a task, for clients that declare the tasks extension: they poll, however long a person takes."`
	Disabled      bool                   `yaml:"disabled" doc:"Keep the entry and leave the server alone."`

	// written keeps url and args as they stand in the file where variables
	// were expanded in them, because what came from the environment may be
	// secret and must not be printed.
	written map[string]string
}

// Tools says which tools of a backend are offered. The zero Tools offers all.
type Tools struct {
	Allow []string `yaml:"allow" doc:"Patterns of tools to offer, in which * stands for any characters and ? for one. Empty means all."`
	Deny  []string `yaml:"deny" doc:"Patterns of tools not to offer. Deny wins over allow."`
}

// Default gives the configuration of an empty file: valid but for the missing
// backends, and for DataDir, which Parse and Load choose by the environment.
func Default() *Config {
	return &Config{
		Listen:   "127.0.0.1:8808",
		Names:    "auto",
		Identity: Identity{AnswerScope: "answerback:answer", SessionAge: 12 * time.Hour},
		Log:      Log{Level: "info", Format: "text"},
		Asks: Asks{
			Enabled:             true,
			Timeout:             5 * time.Minute,
			WarnBefore:          time.Minute,
			Extension:           5 * time.Minute,
			MaxExtensions:       2,
			MaxPageExtensions:   10,
			Attempts:            3,
			MaxFieldLength:      100_000,
			SamplingTimeout:     5 * time.Minute,
			ConnectTimeout:      10 * time.Minute,
			MaxOpen:             10_000,
			MaxOpenPerSession:   100,
			MaxOpenPerPrincipal: 1000,
			RatePerMinute:       10,
			Burst:               100,
			Files: Files{
				MaxSize: 10 * MiB, MaxPerAsk: 50 * MiB, MaxTotal: GiB,
				Draft: time.Hour, Keep: time.Hour, Fetches: 3,
			},
		},
		Journal: Journal{Replicas: 1, MaxBytes: 16 * GiB, Keep: time.Hour},
		Audit:   Audit{Keep: 90 * 24 * time.Hour, MaxBytes: GiB},
		A2A:     A2A{Keep: 24 * time.Hour, MaxTasks: 100, MaxPast: 100},
		Events:  Events{Linger: 2 * time.Minute, Conversation: 15 * time.Minute, Keep: 10 * time.Minute},
		Limits: Limits{
			MessageBytes:         32 * MiB,
			BodyBytes:            32 * MiB,
			BodiesTotal:          256 * MiB,
			BodiesPerPrincipal:   64 * MiB,
			ResponsesTotal:       256 * MiB,
			ResponsesPerBackend:  128 * MiB,
			BodyTime:             30 * time.Minute,
			Sessions:             10_000,
			SessionsPerPrincipal: 1000,
			SessionIdle:          time.Hour,
			CallTimeout:          5 * time.Minute,
			CallCap:              24 * time.Hour,
			Away:                 5 * time.Minute,
			Round:                50 * time.Second,
			CallsPerSession:      256,
			Connections:          20_000,
			ConnectionsPerPeer:   512,
			Drain:                30 * time.Second,
		},
	}
}

// defaultBackend gives the values that a backend has where its entry is silent.
func defaultBackend() Backend {
	return Backend{Transport: "auto", FormSchema: "reject", Secrets: "page"}
}

// Enabled gives the names of the backends that are not disabled, sorted.
func (c *Config) Enabled() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(c.Backends)) {
		if !c.Backends[name].Disabled {
			names = append(names, name)
		}
	}
	return names
}

// PrefixNames reports whether tools and prompts carry their backend's name.
func (c *Config) PrefixNames() bool {
	if c.Names == "auto" {
		return len(c.Enabled()) > 1
	}
	return c.Names == "prefix"
}
