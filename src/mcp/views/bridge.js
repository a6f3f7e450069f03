// The part of MCP Apps (revision 2026-01-26) that our views speak with their host: JSON-RPC over postMessage. Values come
// from strangers, so they become text nodes alone.

const main = document.querySelector('main');
const waiting = new Map();
let lastId = 0;

/** What the host can do, and tells of the place of the view. */
export const host = { capabilities: {}, context: {} };

const send = (message) => parent.postMessage({ jsonrpc: '2.0', ...message }, '*');

/** Sends a request to the host. Rejects with the host's message when it refuses. */
const ask = (method, params) =>
  new Promise((resolve, reject) => {
    lastId += 1;
    waiting.set(lastId, { resolve, reject });
    send({ id: lastId, method, params });
  });

/** Calls a tool of this server through the host. */
export const callTool = (name, input) => ask('tools/call', { name, arguments: input });

/** Makes an element with properties, and elements and texts in it. */
export const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};

/** Makes a paragraph whose writing direction is that of its text. */
export const say = (text, className = '') => make('p', { className, dir: 'auto' }, text);

/** Shows elements in place of what was shown. */
export const show = (...children) => main.replaceChildren(...children);

/** Makes a link that the host opens. */
export const link = (href, text) => {
  const onclick = (event) => {
    event.preventDefault();
    // The person has told the host not to open it.
    ask('ui/open-link', { url: href }).catch(() => {});
  };
  return make('a', { href, onclick }, text);
};

/** Returns what a refusal says to a person; null: the result is no refusal. */
export const refusalOf = ({ isError, structuredContent: body, content = [] }) => {
  if (isError !== true && body !== undefined) return null;
  const text = content[0]?.text ?? 'There is no result to show.';
  // Unpaid terms are JSON that begins with a sentence.
  const [, sentence] = /^\{"error":("(?:[^"\\]|\\.)*")/.exec(text) ?? [];
  return body?.error?.message ?? (sentence === undefined ? text : JSON.parse(sentence));
};

/** Reads a member of `_meta`, whose name begins with the brand of the service. */
export const metaOf = ({ _meta: meta = {} }, ending) =>
  Object.entries(meta).find(([name]) => name.endsWith(`/${ending}`))?.[1];

const takeContext = (context) => {
  Object.assign(host.context, context);
  document.documentElement.style.colorScheme = host.context.theme ?? '';
};

const reportHeight = () => {
  const { height } = document.documentElement.getBoundingClientRect();
  send({ method: 'ui/notifications/size-changed', params: { height: Math.ceil(height) } });
};

/** Begins the view. `showResult` gets the result of the tool, and `showInput` its arguments before that. */
export const begin = async (name, showResult, showInput = () => {}) => {
  const takes = {
    'ui/notifications/tool-input': (params) => showInput(params.arguments ?? {}),
    'ui/notifications/tool-result': showResult,
    'ui/notifications/tool-cancelled': () => show(say('The call was cancelled.')),
    'ui/notifications/host-context-changed': takeContext,
  };
  addEventListener('message', ({ source, data }) => {
    if (source !== parent || data?.jsonrpc !== '2.0') return;
    const { id, method, params, result, error } = data;
    if (method !== undefined && id === undefined) return takes[method]?.(params);
    // The host asks whether the view is there, and before it removes it.
    if (method !== undefined) return send({ id, result: {} });
    const { resolve, reject } = waiting.get(id) ?? {};
    waiting.delete(id);
    if (error === undefined) resolve?.(result);
    else reject?.(new Error(error.message));
  });
  new ResizeObserver(reportHeight).observe(document.documentElement);
  const { hostCapabilities, hostContext } = await ask('ui/initialize', {
    protocolVersion: '2026-01-26',
    appInfo: { name, version: '1' },
    appCapabilities: { availableDisplayModes: ['inline'] },
  });
  host.capabilities = hostCapabilities;
  takeContext(hostContext);
  send({ method: 'ui/notifications/initialized' });
};
