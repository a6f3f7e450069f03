/** The receiver of a delivery. */
export interface Receiver {
  /** Name and port. */
  host: string;
  accountId: string;
}

export type FairScheduler = ReturnType<typeof createFairScheduler>;

/** Lets accounts take turns, and the hosts of each account, when there is not room for all deliveries. */
export const createFairScheduler = () => {
  /** The number of the last turn, by account and by receiver. */
  let lastTurns = new Map<string, number>();
  let turn = 0;
  const lastOf = (key: string): number => lastTurns.get(key) ?? 0;
  return {
    /**
     * Sorts deliveries by turn: accounts that had no turn, or had theirs longest ago, come first, and within an account
     * its hosts likewise. Equals stay in the order given.
     */
    order: <Delivery extends Receiver>(waiting: readonly Delivery[]): Delivery[] => {
      // Removes receivers without deliveries, so memory is bounded by the number of deliveries that wait.
      const keys = waiting.flatMap((receiver) => [receiver.accountId, receiverKey(receiver)]);
      lastTurns = new Map(keys.map((key) => [key, lastOf(key)]));
      return waiting.toSorted(
        (a, b) =>
          lastOf(a.accountId) - lastOf(b.accountId) || lastOf(receiverKey(a)) - lastOf(receiverKey(b)),
      );
    },
    /** Notes that a delivery to this receiver has its turn now. */
    take: (receiver: Receiver): void => {
      turn += 1;
      lastTurns.set(receiver.accountId, turn);
      lastTurns.set(receiverKey(receiver), turn);
    },
  };
};

/** Names an account at a host. */
export const receiverKey = ({ host, accountId }: Receiver): string => `${accountId} ${host}`;
