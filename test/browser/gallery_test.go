//go:build browser

package browser

// gallery is a form whose fields are all of one type and have every hint that
// the type has.
type gallery struct {
	form   string
	fill   func(v *tab, e eyes)
	answer string // what the server gets of that, but for files
	// tree is what assistive technology is told, as role and name.
	tree [][2]string
}

// unseen reports whether our script does nothing.
func (e eyes) unseen() bool { return e.noJS || e.plain }

var galleries = map[string]gallery{
	"text": {
		form: `{"id":"g","title":"G","fields":[
			{"id":"user","type":"text","label":"Username","required":true,"rendering":{"placeholder":"ann-example","inputType":"text","helpText":"As in the tracker.","autocomplete":"username","gridColumn":2},"accessibility":{"ariaLabel":"Username at the tracker"}},
			{"id":"mail","type":"text","label":"E-mail","required":true,"validation":{"format":"email"},"rendering":{"inputType":"email","autocomplete":"work email","gridColumn":2}},
			{"id":"phone","type":"text","label":"Telephone","rendering":{"displayStyle":"tel","gridColumn":1}},
			{"id":"code","type":"text","label":"Branch code","rendering":{"inputType":"number","gridColumn":1,"breakAfter":true}},
			{"id":"home","type":"text","label":"Home page","rendering":{"inputType":"url","placeholder":"https://example.com/","gridColumn":2}},
			{"id":"day","type":"text","label":"First day","rendering":{"inputType":"date","gridColumn":2}},
			{"id":"hour","type":"text","label":"Call at","validation":{"format":"time"},"rendering":{"inputType":"time","gridColumn":2}},
			{"id":"meet","type":"text","label":"Meeting","rendering":{"inputType":"datetime_local","gridColumn":2}},
			{"id":"notes","type":"text","label":"Notes","rendering":{"rows":8,"gridColumn":2,"gridRow":2}},
			{"id":"slug","type":"text","label":"Short name","validation":{"minLength":3},"rendering":{"validationTrigger":"on_change","debounceMs":20,"gridColumn":2},"accessibility":{"required":true}},
			{"id":"team","type":"text","label":"Team","default":"opps","rendering":{"gridColumn":2},"accessibility":{"invalid":true,"ariaDescribedBy":"user nowhere","tabIndex":7}},
			{"id":"otp","type":"text","label":"Code from the message","required":true,"rendering":{"inputType":"password","autocomplete":"one-time-code","gridColumn":2}},
			{"id":"stage","type":"text","label":"Stage","default":"beta","rendering":{"readonly":true,"gridColumn":2}},
			{"id":"origin","type":"text","label":"Origin","default":"gallery","rendering":{"hidden":true}}]}`,
		fill: func(v *tab, e eyes) {
			v.fill("Username at the tracker", "ann")
			v.fill("E-mail", "ann@example.org")
			v.fill("Telephone (optional)", "+49 30 1234")
			v.fill("Branch code (optional)", "007")
			v.fill("Home page (optional)", "https://ann.example/")
			v.fill("First day (optional)", "2026-12-01")
			v.fill("Call at (optional)", "14:30")
			v.fill("Meeting (optional)", "2026-12-01T09:15")
			v.fill("Notes (optional)", "one\ntwo")
			v.fill("Short name", "ann-e")
			v.fill("Team (optional)", "ops")
			v.fill("Code from the message", "123456")
		},
		answer: `{"code":"007","day":"2026-12-01","home":"https://ann.example/","hour":"14:30:00Z","mail":"ann@example.org","meet":"2026-12-01T09:15","notes":"one\ntwo","origin":"gallery","otp":"123456","phone":"+49 30 1234","slug":"ann-e","stage":"beta","team":"ops","user":"ann"}`,
		tree:   [][2]string{{"textbox", "Username at the tracker"}, {"textbox", "E-mail"}, {"textbox", "Telephone (optional)"}},
	},
	"number": {
		form: `{"id":"g","title":"G","fields":[
			{"id":"port","type":"number","label":"Port","required":true,"validation":{"minimum":1024,"maximum":65535,"multipleOf":1},"rendering":{"placeholder":"8080","step":1,"helpText":"Where it listens.","gridColumn":2}},
			{"id":"price","type":"number","label":"Price","rendering":{"step":0.25,"gridColumn":2}},
			{"id":"share","type":"number","label":"Share of the traffic","default":0.5,"validation":{"minimum":0,"maximum":1},"rendering":{"displayStyle":"slider","step":0.05}},
			{"id":"even","type":"number","label":"Copies","required":true,"validation":{"minimum":1,"maximum":20,"multipleOf":2},"rendering":{"displayStyle":"slider"}},
			{"id":"open","type":"number","label":"Without limits","rendering":{"displayStyle":"slider"}},
			{"id":"zone","type":"number","label":"Zone","default":3,"rendering":{"readonly":true}}]}`,
		fill: func(v *tab, e eyes) {
			v.fill("Port", "8080")
			v.fill("Price (optional)", "12.75")
			if e.unseen() {
				v.fill("Share of the traffic (optional)", "0.55")
				v.fill("Copies", "4")
				return
			}
			v.fill("Share of the traffic, slider", "0.55")
			equal(v.t, "the number beside the slider", v.value("Share of the traffic (optional)"), "0.55")
			v.fill("Copies", "6")
			equal(v.t, "the slider beside the number", v.value("Copies, slider"), "6")
			v.fill("Copies, slider", "4")
		},
		answer: `{"even":4,"port":8080,"price":12.75,"share":0.55,"zone":3}`,
		tree:   [][2]string{{"spinbutton", "Port"}, {"spinbutton", "Price (optional)"}, {"textbox", "Copies"}, {"textbox", "Without limits (optional)"}},
	},
	"boolean": {
		form: `{"id":"g","title":"G","fields":[
			{"id":"tls","type":"boolean","label":"Encrypt connections","default":true,"rendering":{"displayStyle":"checkbox","helpText":"Turn off only for a network that you trust."}},
			{"id":"smtp","type":"boolean","label":"Send mail","rendering":{"displayStyle":"toggle","helpText":"Through a server of your own."}},
			{"id":"port","type":"number","label":"SMTP port","required":true,"rendering":{"conditionalDisplay":{"operator":"equals","field":"smtp","value":true}}},
			{"id":"loud","type":"boolean","label":"Tell the team","default":true,"rendering":{"displayStyle":"toggle"}},
			{"id":"live","type":"boolean","label":"Publish now","required":true,"rendering":{"displayStyle":"radio"}},
			{"id":"keep","type":"boolean","label":"Keep the old one","rendering":{"displayStyle":"radio"}},
			{"id":"mode","type":"boolean","label":"Dry run","default":false,"rendering":{"displayStyle":"segmented"}},
			{"id":"beta","type":"boolean","label":"Beta","default":true,"rendering":{"readonly":true}}]}`,
		fill: func(v *tab, e eyes) {
			v.uncheck("Encrypt connections")
			if !e.unseen() && v.shown("SMTP port") {
				v.t.Error("the port is shown before it is asked for")
			}
			v.check("Send mail")
			v.fill("SMTP port", "587")
			v.uncheck("Tell the team")
			v.pick("Publish now", "No")
			v.pick("Dry run (optional)", "Yes")
		},
		answer: `{"beta":true,"live":false,"loud":false,"mode":true,"port":587,"smtp":true,"tls":false}`,
		tree:   [][2]string{{"checkbox", "Encrypt connections"}, {"switch", "Send mail"}, {"switch", "Tell the team"}, {"group", "Publish now"}},
	},
	"select": {
		form: `{"id":"g","title":"G","fields":[
			{"id":"level","type":"select","label":"Log level","required":true,"options":["debug","info","warning","error"],"rendering":{"displayStyle":"dropdown","placeholder":"Pick a level","helpText":"How much is written."}},
			{"id":"size","type":"select","label":"Size","required":true,"default":"m","options":[{"value":"s","title":"Small"},{"value":"m","title":"Medium"},{"value":"l","title":"Large"}],"rendering":{"displayStyle":"segmented"}},
			{"id":"plan","type":"select","label":"Plan","options":[{"value":"free","title":"Free"},{"value":"team","title":"Team"}],"rendering":{"displayStyle":"radio"}},
			{"id":"region","type":"select","label":"Region","required":true,"options":[{"value":"use1","title":"US East (Virginia)"},{"value":"usw2","title":"US West (Oregon)"},{"value":"cac1","title":"Canada (Montréal)"},{"value":"saea1","title":"South America (São Paulo)"},{"value":"euw1","title":"Europe (Ireland)"},{"value":"euc1","title":"Europe (Frankfurt)"},{"value":"aps1","title":"Asia (Mumbai)"},{"value":"apn1","title":"Asia (Tokyo)"},{"value":"apse1","title":"Asia (Singapore)"}],"rendering":{"displayStyle":"dropdown","searchable":true}},
			{"id":"tier","type":"select","label":"Tier","default":"b","options":["a","b"],"rendering":{"readonly":true}}]}`,
		fill: func(v *tab, e eyes) {
			v.choose("Log level", "warning")
			v.pick("Size", "Large")
			v.pick("Plan (optional)", "Team")
			if !e.unseen() {
				v.fill("Search Region", "sao")
				v.await("1 of 9 found")
			}
			v.choose("Region", "South America (São Paulo)")
		},
		answer: `{"level":"warning","plan":"team","region":"saea1","size":"l","tier":"b"}`,
		tree:   [][2]string{{"combobox", "Log level"}, {"group", "Size"}, {"radio", "Medium"}, {"group", "Plan (optional)"}},
	},
	"multi_select": {
		form: `{"id":"g","title":"G","fields":[
			{"id":"features","type":"multi_select","label":"Features","default":["logging","metrics"],"options":[{"value":"logging","title":"Logging"},{"value":"metrics","title":"Metrics"},{"value":"tracing","title":"Tracing"}],"rendering":{"displayStyle":"checkbox","helpText":"What is switched on."}},
			{"id":"tags","type":"multi_select","label":"Tags","required":true,"options":["backend","frontend","docs","security","release"],"validation":{"maxItems":3},"rendering":{"displayStyle":"chips"}},
			{"id":"teams","type":"multi_select","label":"Teams","default":["ops"],"options":[{"value":"ops","title":"Operations"},{"value":"dev","title":"Development"},{"value":"qa","title":"Quality"},{"value":"doc","title":"Documentation"}],"rendering":{"displayStyle":"multiselect_dropdown"}},
			{"id":"langs","type":"multi_select","label":"Languages","options":["Dansk","Deutsch","English","Español","Français","Italiano","Nederlands","Polski","Português"],"rendering":{"searchable":true}}]}`,
		fill: func(v *tab, e eyes) {
			v.uncheck("Metrics")
			v.check("docs")
			v.check("security")
			if e.unseen() {
				v.touch("Show the 4 choices")
			} else {
				v.touch("1 chosen: Operations")
			}
			v.check("Quality")
			if !e.unseen() {
				v.await("2 chosen: Operations, Quality")
				v.fill("Search Languages", "port")
				v.await("1 of 9 found")
			}
			v.check("Português")
		},
		answer: `{"features":["logging"],"langs":["Português"],"tags":["docs","security"],"teams":["ops","qa"]}`,
		tree:   [][2]string{{"group", "Features (optional)"}, {"checkbox", "docs"}, {"group", "Teams (optional)"}},
	},
	"url": {
		form: `{"id":"g","title":"G","fields":[
			{"id":"hook","type":"url","label":"Webhook","required":true,"rendering":{"placeholder":"https://api.example.com/webhook","helpText":"It is called after each release.","testButton":true}},
			{"id":"docs","type":"url","label":"Documentation","default":"https://docs.example.com/start","rendering":{"testButton":true,"inputType":"url"}},
			{"id":"repo","type":"url","label":"Repository","default":"https://git.example.com/x","rendering":{"readonly":true}}]}`,
		fill: func(v *tab, e eyes) {
			v.fill("Webhook", "https://hooks.example.com/r/1")
			if e.unseen() {
				return
			}
			v.await("Open hooks.example.com in a new tab")
			v.fill("Webhook", "javascript:alert(1)")
			v.gone("Open hooks.example.com in a new tab")
			v.fill("Webhook", "https://hooks.example.com/r/1")
			v.await("Open hooks.example.com in a new tab")
		},
		answer: `{"docs":"https://docs.example.com/start","hook":"https://hooks.example.com/r/1","repo":"https://git.example.com/x"}`,
		tree:   [][2]string{{"textbox", "Webhook"}, {"link", "Open docs.example.com in a new tab"}},
	},
	"file": {
		form: `{"id":"g","title":"G","fields":[
			{"id":"config","type":"file","label":"Configuration","required":true,"validation":{"allowedExtensions":[".yaml",".json"]},"rendering":{"acceptAttribute":".json,.yaml","dragAndDrop":true,"preview":true,"helpText":"JSON or YAML."}},
			{"id":"logo","type":"file","label":"Logo","validation":{"allowedMimeTypes":["image/*"]},"rendering":{"preview":true}},
			{"id":"more","type":"file","label":"Anything else","validation":{"maxItems":3},"rendering":{"dragAndDrop":true}}]}`,
		tree: [][2]string{{"group", "Files that are kept"}},
	},
	"date": {
		form: `{"id":"g","title":"G","fields":[
			{"id":"start","type":"date","label":"Start date","required":true,"validation":{"minimum":"2026-01-01","maximum":"2026-12-31"},"rendering":{"helpText":"Select a date in 2026.","displayFormat":"DD.MM.YYYY","gridColumn":2}},
			{"id":"end","type":"date","label":"End date","default":"2026-12-24","rendering":{"displayFormat":"D MMMM YYYY","enableTime":false,"gridColumn":2}},
			{"id":"call","type":"date","label":"Call","rendering":{"enableTime":true,"displayFormat":"D.M.YYYY HH:mm"}},
			{"id":"due","type":"date","label":"Due","default":"2026-12-31","rendering":{"readonly":true,"displayFormat":"MMM D, YYYY"}}]}`,
		fill: func(v *tab, e eyes) {
			v.fill("Start date", "2026-03-09")
			v.fill("Call (optional)", "2026-11-15T08:05")
			if !e.unseen() {
				v.await("09.03.2026")
				v.await("15.11.2026 08:05")
			}
		},
		answer: `{"call":"2026-11-15T08:05:00Z","due":"2026-12-31","end":"2026-12-24","start":"2026-03-09"}`,
		tree:   [][2]string{{"textbox", "Start date"}},
	},
}
