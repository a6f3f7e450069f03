import { answerRpcBody, rpcResult, type RpcCall } from '../../chains/json-rpc.ts';
import { forwardTo, startRpcProxy, type RpcProxy } from '../../chains/rpc-proxy.ts';

/** The node at `rpcUrl`, but for calls that `answer` has an answer of its own to; undefined leaves them to the node. */
export const startOddNode = (rpcUrl: string, answer: (call: RpcCall) => unknown): Promise<RpcProxy> => {
  const pass = forwardTo(rpcUrl);
  return startRpcProxy({
    port: 0,
    forward: async (body) => {
      const [call] = body.calls;
      const own = call === undefined ? undefined : answer(call);
      return own === undefined ? pass(body) : answerRpcBody(body, ({ id }) => rpcResult(id, own));
    },
  });
};
