import { randomUUID } from 'node:crypto';
import { systemClock } from '../../../src/kit/clock.ts';
import { silentLog } from '../../../src/kit/log.ts';
import { createX402Gate } from '../../../src/payments/sale/gate.ts';
import type { ListedPayment, Store } from '../../../src/store/store.ts';
import type { Chains } from '../../chains/start-chains.ts';
import { describeSale } from '../wire/sale.ts';
import { createBuyer } from './buyer.ts';
import { createSale, hasty, overRest, price, priceUnits, untilPending } from './gate-fixture.ts';

/**
 * Settles a payment on Base whose receipt the node does not tell, so that its state is unknown. `see` lets the node
 * tell receipts again.
 */
export const loseSightOfPayment = async (
  chains: Chains,
  store: Store,
): Promise<{ payment: ListedPayment; see(): void }> => {
  const { rpcUrl, network, seller, facilitator, controls, mint } = chains.base;
  const buyer = await createBuyer(chains, true);
  await mint(buyer.addresses.base, priceUnits);
  const local = { kind: 'local', rpcUrl, privateKey: facilitator.privateKey } as const;
  const gate = createX402Gate({
    store,
    networks: [{ network, payTo: seller.address, facilitator: local }],
    sales: [describeSale()],
    publicUrl: () => 'https://leads.example',
    clock: systemClock,
    log: silentLog,
    owner: randomUUID(),
    timeouts: hasty,
  });
  await gate.warmUp();
  const proofs = await buyer.prove(gate.challenge({ price, ...overRest }), 'base');
  const blind = controls.inject({ fault: 'unavailable', methods: ['eth_getTransactionReceipt'] });
  await untilPending(() => gate.sellAnswer(createSale('search').request(proofs)));
  await gate.close();
  const [payment] = await store.listPayments({ states: ['unknown'], limit: 1 });
  if (payment === undefined) throw new Error('the payment is not unknown');
  return { payment, see: () => blind.remove() };
};
