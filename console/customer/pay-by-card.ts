import type { Api } from '../api.ts';

interface Order {
  amount_usd: string | null | undefined;
  /** Saves the card for the automatic top-up. */
  save_card?: true;
}

/** Leads to a page of Stripe, where a person pays. */
export const payByCard = async (api: Api, body: Order): Promise<void> => {
  const { url } = await api.read<{ url: string }>('v1/balance/checkout', { body });
  location.assign(url);
};
