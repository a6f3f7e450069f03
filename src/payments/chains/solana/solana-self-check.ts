import type { PaymentNetwork } from '../core/network-family.ts';
import type { SolanaChain } from './solana-chain.ts';
import { findTokenAccount, tokenProgram } from './solana-transaction.ts';

const mintLayout = { bytes: 82, decimalsAt: 44 };

const findMintFaults = async (
  chain: SolanaChain,
  { asset, id, label }: PaymentNetwork,
): Promise<string[]> => {
  const setting = `x402.networks.${id}.asset`;
  const named = `${asset.symbol} at ${asset.address}`;
  const mint = await chain.getAccount(asset.address);
  if (mint?.owner !== tokenProgram || mint.data.length !== mintLayout.bytes)
    return [`${named} is no mint of the token program on ${label}; set ${setting}.address`];
  const decimals = mint.data[mintLayout.decimalsAt];
  return decimals === asset.decimals
    ? []
    : [`${named} has ${decimals} decimals, not ${asset.decimals}; set ${setting}.decimals`];
};

/** As `NetworkFamily.findFaults`. Throws RpcOutage or RpcRefusal when the node does not tell. */
export const findSolanaFaults = async (
  chain: SolanaChain,
  { network, payTo }: { network: PaymentNetwork; payTo: string },
): Promise<string[]> => {
  const { asset, id, label, family } = network;
  const genesis = await chain.getGenesisHash();
  if (!genesis.startsWith(id.slice('solana:'.length)))
    return [
      `the RPC serves the cluster ${genesis}; set ${family.settingPrefix}_RPC_URL or x402.networks.${id}.rpc_url to one of ${label}`,
    ];
  const faults = await findMintFaults(chain, network);
  if (faults.length > 0) return faults;
  const tokenAccount = await findTokenAccount({ owner: payTo, mint: asset.address });
  return (await chain.getAccount(tokenAccount)) === null
    ? [
        `the wallet ${payTo} has no ${asset.symbol} account (${tokenAccount}) yet; send it some ${asset.symbol}`,
      ]
    : [];
};
