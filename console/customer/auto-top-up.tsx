import { useState } from 'preact/hooks';
import { money } from '../format.ts';
import { Action } from '../parts/confirm.tsx';
import { Facts, Field, Problem, readFields, Shown, State } from '../parts/parts.tsx';
import { useAction, useConsole, useLoad } from '../use-console.ts';
import { payByCard } from './pay-by-card.ts';

interface Setting {
  state: 'off' | 'needs_card' | 'on' | 'stopped';
  stopped_for: 'authentication_required' | 'payment_failed' | 'taken_back' | null;
  below_usd: string | null;
  amount_usd: string | null;
  monthly_cap_usd: string | null;
  card: string | null;
  month_usd: string;
}

const path = 'v1/balance/auto-top-up';

const reasons = {
  authentication_required: 'The bank wants you to confirm. Pay once more with a card that you save.',
  payment_failed: 'The card could not be charged. Start again, or save another card.',
  taken_back: 'A payment by card was refunded or disputed. Start again when that is settled.',
} as const;

const SettingForm = ({ setting, onDone }: { setting: Setting; onDone(): void }) => {
  const { api } = useConsole();
  const { isBusy, problem, run } = useAction();
  const { card, below_usd: below, amount_usd: amount, monthly_cap_usd: cap } = setting;
  const save = (event: SubmitEvent): void => {
    const paysNow = event.submitter?.id === 'save-card';
    const body = readFields(event);
    const isSet =
      setting.state !== 'off' &&
      body['below_usd'] === below &&
      body['amount_usd'] === amount &&
      body['monthly_cap_usd'] === cap;
    void run(async () => {
      // To set a stopped one would charge its card again, though the person pays by another.
      const set = paysNow && isSet ? setting : await api.read<Setting>(path, { method: 'PUT', body });
      if (paysNow) await payByCard(api, { amount_usd: set.amount_usd, save_card: true });
      else onDone();
    });
  };
  return (
    <>
      <form class="grid" onSubmit={save}>
        <Field name="below_usd" label="When the balance is below, USD" value={below ?? '5.00'} isRequired />
        <Field name="amount_usd" label="Charge the card, USD" value={amount ?? '20.00'} isRequired />
        <Field name="monthly_cap_usd" label="At most in a month, USD" value={cap ?? '100.00'} isRequired />
        {card !== null && (
          <button type="submit" disabled={isBusy}>
            Save
          </button>
        )}
        <button type="submit" id="save-card" disabled={isBusy}>
          {card === null ? 'Pay once now and save the card' : 'Pay once now and save another card'}
        </button>
      </form>
      <Problem text={problem} />
    </>
  );
};

/** Charges a saved card when the balance is low. The card is saved on a page of Stripe. */
export const AutoTopUp = () => {
  const { api } = useConsole();
  const [turn, setTurn] = useState(0);
  const loaded = useLoad<Setting>(path, { version: turn });
  const update = (): void => setTurn((last) => last + 1);
  const stop = () => api.open(path, { method: 'DELETE' }).then(update);
  return (
    <section>
      <h2>Automatic top-up</h2>
      <Shown loaded={loaded}>
        {(setting) => (
          <>
            <Facts
              facts={[
                ['State', <State key="state" name={setting.state.replace('_', ' ')} />],
                ['Card', setting.card],
                ['Charged this month', money(setting.month_usd)],
              ]}
            />
            {setting.stopped_for !== null && <p class="notice">{reasons[setting.stopped_for]}</p>}
            <SettingForm
              key={`${setting.state} ${setting.below_usd} ${setting.amount_usd} ${setting.monthly_cap_usd}`}
              setting={setting}
              onDone={update}
            />
            {setting.state !== 'off' && (
              <Action
                label="Stop"
                name="Stop the automatic top-up"
                question="Stop the automatic top-up, and forget the saved card?"
                yes="Stop it"
                act={stop}
              />
            )}
          </>
        )}
      </Shown>
    </section>
  );
};
