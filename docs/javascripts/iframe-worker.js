/* Browsers start no worker from a file. There, the search of this site runs in a hidden frame instead. */
if (location.protocol === "file:") {
    window.Worker = class extends EventTarget {
        constructor(url) {
            super();
            const frame = document.createElement("iframe");
            frame.hidden = true;
            frame.title = "search";
            document.body.append(frame);
            this.inside = frame.contentWindow;
            this.inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }));
            const script = this.inside.document.createElement("script");
            script.src = url;
            this.loaded = new Promise(done => { script.onload = done; });
            this.inside.document.body.append(script);
        }

        postMessage(data) {
            this.loaded.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
        }
    };
}
