import { createJsonRpc, type JsonRpc } from '../core/json-rpc.ts';
import { decodeBase58 } from '../solana/base58.ts';
import type { PaymentNetwork } from '../core/networks.ts';
import type { Coin, RefundChain, RefundWallet } from './refund-transfer.ts';

export interface RefundPlace {
  network: PaymentNetwork;
  rpcUrl: string;
  /** One question to the node, in milliseconds. */
  rpcTimeoutMs: number;
  /** Epoch milliseconds. */
  now: () => number;
  /** EVM: how long after the first a second look follows before a transaction is called dead. */
  secondLookMs?: number;
}

export interface OpenedRefundChain {
  chain: RefundChain;
  /**
   * EVM: 0x and 64 hex digits of a secp256k1 key. Solana: base58 of 64 bytes, seed and public key. Throws TypeError for
   * anything else, without showing it.
   */
  openWallet(key: string): Promise<RefundWallet>;
}

const bnbChains: ReadonlySet<string> = new Set(['eip155:56', 'eip155:97']);

const coinOf = ({ family, id }: PaymentNetwork): Coin => {
  if (family === 'solana') return { symbol: 'SOL', decimals: 9 };
  return { symbol: bnbChains.has(id) ? 'BNB' : 'ETH', decimals: 18 };
};

const openEvm = async (rpc: JsonRpc, { network, secondLookMs }: RefundPlace): Promise<OpenedRefundChain> => {
  const { createEvmRefundChain } = await import('../evm/evm-refund-chain.ts');
  const { createEvmRefundWallet } = await import('../evm/evm-refund-wallet.ts');
  return {
    chain: createEvmRefundChain({ rpc, ...(secondLookMs === undefined ? {} : { secondLookMs }) }),
    openWallet: async (key) => {
      if (!/^0x[0-9a-fA-F]{64}$/.test(key)) throw new TypeError('it must be 0x and 64 hex digits');
      return withoutCause(
        () => createEvmRefundWallet({ network, coin: coinOf(network), privateKey: `0x${key.slice(2)}`, rpc }),
        'it is no private key: its number is zero, or not below the order of secp256k1',
      );
    },
  };
};

const openSolana = async (rpc: JsonRpc, { network, now }: RefundPlace): Promise<OpenedRefundChain> => {
  const { createSolanaRefundChain } = await import('../solana/solana-refund-chain.ts');
  const { createSolanaRefundWallet } = await import('../solana/solana-refund-wallet.ts');
  return {
    chain: createSolanaRefundChain({ rpc, now }),
    openWallet: async (key) => {
      const secretKey = decodeBase58(key);
      if (secretKey?.length !== 64) throw new TypeError('it must be a base58 secret key of 64 bytes');
      return withoutCause(
        () => createSolanaRefundWallet({ network, coin: coinOf(network), secretKey, rpc }),
        'its two halves, the seed and the public key, do not belong together',
      );
    },
  };
};

/** What libraries say of a wrong key may show it, so nothing of that is kept. */
const withoutCause = async (
  open: () => RefundWallet | Promise<RefundWallet>,
  message: string,
): Promise<RefundWallet> => {
  try {
    return await open();
  } catch {
    throw new TypeError(message);
  }
};

/** A chain as refunds see it. The packages of a chain are loaded here, as most commands need none of them. */
export const openRefundChain = (place: RefundPlace): Promise<OpenedRefundChain> => {
  const rpc = createJsonRpc({ url: place.rpcUrl, timeoutMs: place.rpcTimeoutMs });
  return place.network.family === 'evm' ? openEvm(rpc, place) : openSolana(rpc, place);
};
