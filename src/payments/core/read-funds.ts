import { RpcOutage, RpcRefusal, type JsonRpc } from './json-rpc.ts';
import type { NetworkFamily } from './networks.ts';

/** Reads what a payment's source holds, in the asset's smallest unit. Null when the node does not answer. */
export const readFunds = async (
  { family, rpc, timeoutMs }: { family: NetworkFamily; rpc: JsonRpc; timeoutMs: number },
  { source, asset }: { source: string; asset: string },
): Promise<bigint | null> => {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    if (family === 'solana') {
      const { createSolanaQuestions } = await import('../solana/solana-questions.ts');
      return await createSolanaQuestions(rpc, signal).tokenBalance(source);
    }
    const { createEvmChain } = await import('../evm/evm-chain.ts');
    const { readTokenBalance } = await import('../evm/evm-token.ts');
    return await readTokenBalance(createEvmChain(rpc, signal), { asset, owner: source });
  } catch (error) {
    if (error instanceof RpcOutage || error instanceof RpcRefusal) return null;
    throw error;
  }
};
