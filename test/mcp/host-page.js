// The page of a host: the official AppBridge, with the view in a sandboxed frame.
import { AppBridge, PostMessageTransport } from '@modelcontextprotocol/ext-apps/app-bridge';

globalThis.showView = async ({ html, context, input, result, capabilities }) => {
  const frame = document.querySelector('iframe');
  const bridge = new AppBridge(null, { name: 'test-host', version: '1' }, capabilities, {
    hostContext: { displayMode: 'inline', ...context },
  });
  globalThis.bridge = bridge;
  bridge.oncalltool = ({ name, arguments: given }) => globalThis.onToolCall(name, given ?? {});
  bridge.onopenlink = async ({ url }) => {
    await globalThis.onOpenLink(url);
    return {};
  };
  bridge.onsizechange = ({ height }) => {
    frame.style.height = `${height}px`;
  };
  const isReady = new Promise((resolve) => {
    bridge.oninitialized = resolve;
  });
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.srcdoc = html;
  await isReady;
  await bridge.sendToolInput({ arguments: input });
  await bridge.sendToolResult(result);
};
