// Search runs in a web worker, and browsers start none for pages opened from files. There, run its
// script in a hidden frame instead. The name of this file tells the theme's offline plugin that it
// need not load such a script from the network.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      this.frame.srcdoc = `<script src="${url}"></script>`
      this.scope = new Promise((resolve) => {
        this.frame.addEventListener("load", () => {
          const scope = this.frame.contentWindow
          scope.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }))
          resolve(scope)
        }, { once: true })
      })
      document.body.append(this.frame)
    }

    postMessage(data) {
      this.scope.then((scope) => scope.dispatchEvent(new MessageEvent("message", { data })))
    }

    terminate() {
      this.frame.remove()
    }
  }
}
