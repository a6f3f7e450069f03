import { useState } from 'preact/hooks';
import { Action } from '../parts/confirm.tsx';
import { JobLink } from '../parts/history.tsx';
import { Field, Moment, Problem, readFields, State, Title } from '../parts/parts.tsx';
import { CustomerTable } from '../parts/table.tsx';
import { useAction, useConsole } from '../use-console.ts';

interface Delivery {
  event_id: string;
  event: string;
  job_id: string | null;
  state: string;
  attempts: number;
  next_attempt_at: string | null;
  created_at: string;
  target: string;
  last_status: number | null;
  last_error: string | null;
}

const TestEvent = ({ onSent }: { onSent(): void }) => {
  const { api } = useConsole();
  const { isBusy, problem, run } = useAction();
  const send = (event: SubmitEvent): void => {
    const body = readFields(event);
    void run(() => api.open('v1/webhooks/test', { body }).then(onSent));
  };
  return (
    <section>
      <h2>Send a test event</h2>
      <form class="grid" onSubmit={send}>
        <Field name="url" label="Address of the receiver" isRequired hint="https://shop.example/hooks" />
        <button type="submit" disabled={isBusy}>
          Send a test event
        </button>
      </form>
      <Problem text={problem} />
    </section>
  );
};

interface Rotated {
  webhook_secret: string;
  previous_signs_until: string | null;
}

const Secret = () => {
  const { api } = useConsole();
  const [made, setMade] = useState<Rotated | null>(null);
  const rotate = () => api.read<Rotated>('v1/webhooks/secret/rotate', { method: 'POST' }).then(setMade);
  return (
    <section>
      <h2>Signing secret</h2>
      <Action
        label="Make a new secret"
        question="Make a new secret that signs the webhooks of this account? For 24 hours the present one signs them, too. Then receivers that do not know the new one refuse them."
        act={rotate}
      />
      {made !== null && (
        <p class="notice" role="status">
          This is the secret. It is shown only now: <code class="whole">{made.webhook_secret}</code>
          The previous one signs, too, until: <Moment at={made.previous_signs_until} />
        </p>
      )}
    </section>
  );
};

/** The events that were sent for the account, with how each delivery went. */
export const Webhooks = () => {
  const { api } = useConsole();
  const [turn, setTurn] = useState(0);
  const update = (): void => setTurn((last) => last + 1);
  const sendAgain = ({ event_id: id }: Delivery) =>
    api.open(`v1/webhooks/deliveries/${id}/redeliver`, { method: 'POST' }).then(update);
  return (
    <>
      <Title>Webhooks</Title>
      <CustomerTable<Delivery>
        name="Webhooks"
        path="v1/webhooks/deliveries"
        version={turn}
        columns={[
          { title: 'Made', cell: ({ created_at: at }) => <Moment at={at} />, isWide: true },
          { title: 'Event', cell: ({ event }) => event },
          { title: 'Job', cell: ({ job_id: id }) => id !== null && <JobLink id={id} />, isWide: true },
          { title: 'Receiver', cell: ({ target }) => target, isWide: true },
          { title: 'State', cell: ({ state }) => <State name={state} /> },
          { title: 'Attempts', cell: ({ attempts }) => attempts, isNumber: true },
          {
            title: 'Last answer',
            cell: ({ last_error: error, last_status: status }) => error ?? status ?? '–',
            isWide: true,
          },
          { title: 'Next', cell: ({ next_attempt_at: at }) => <Moment at={at} />, isWide: true },
          {
            title: 'Send again',
            cell: (one) => (
              <Action
                label="Again"
                name={`Send ${one.event} ${one.event_id} again`}
                act={() => sendAgain(one)}
              />
            ),
          },
        ]}
        keyOf={({ event_id: id }) => id}
        none="No event was sent yet."
      />
      <TestEvent onSent={update} />
      <Secret />
    </>
  );
};
