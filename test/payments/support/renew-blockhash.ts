import {
  createKeyPairSignerFromBytes,
  createSolanaRpc,
  getBase58Encoder,
  getBase64EncodedWireTransaction,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
  partiallySignTransaction,
} from '@solana/kit';
import type { SolanaChain } from '../../chains/solana-chain.ts';

/** A recorded payment of the local buyer with a blockhash of today, signed again; every other byte stays. Base64. */
export const renewBlockhash = async (transaction: string, chain: SolanaChain): Promise<string> => {
  const bytes = Buffer.from(transaction, 'base64');
  const { messageBytes } = getTransactionDecoder().decode(bytes);
  const { lifetimeToken } = getCompiledTransactionMessageDecoder().decode(messageBytes);
  const { value: latest } = await createSolanaRpc(chain.rpcUrl).getLatestBlockhash().send();
  const base58 = getBase58Encoder();
  bytes.set(base58.encode(latest.blockhash), bytes.indexOf(Uint8Array.from(base58.encode(lifetimeToken))));
  const secretKey = Uint8Array.from(base58.encode(chain.buyer.secretKeyBase58));
  const { keyPair } = await createKeyPairSignerFromBytes(secretKey);
  const signed = await partiallySignTransaction([keyPair], getTransactionDecoder().decode(bytes));
  return getBase64EncodedWireTransaction(signed);
};
