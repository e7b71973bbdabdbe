//! Scenario tests of both rungs: each is a function of a [`Runner`](super::Runner) in the module of its subject, listed here.
//!
//! Rung memory runs them with [`in_memory`](super::in_memory), rung kernel with [`on_both`](super::on_both). The list has
//! `function`, or `name = function(arguments)` where a function takes more than the runner. `#[ignore = "long"]` stands before a
//! test that `cargo xtask test` leaves to `cargo xtask test --all`.

/// Makes a test of each scenario test, which calls it with the runner.
#[macro_export]
macro_rules! scenario_tests {
    ($run:path) => {
        $crate::scenario_tests_of_modules! { $run;
            backpressure {
                #[ignore = "long"]
                a_ring_deadlocks_unless_it_is_prevented,
                nics_that_obey_nothing,
                #[ignore = "long"]
                no_head_of_line_blocking,
                #[ignore = "long"]
                over_pfc_and_over_a_small_buffer,
                pauses_hold_nothing_that_is_sent,
                #[ignore = "long"]
                pauses_report_what_they_hold,
                #[ignore = "long"]
                prevention_changes_nothing_in_a_whole_clos,
                #[ignore = "long"]
                two_priorities_and_collisions,
            }
            backpressure_variants {
                #[ignore = "long"]
                end_to_end_control,
                #[ignore = "long"]
                labelled_incasts,
                #[ignore = "long"]
                sampled_departures,
                shortest_remaining_first,
                strict_classes,
            }
            congestion {
                hpcc_profile_is_fair,
                marked_packets_count_once,
                paper_profile_is_fair,
                periodic_thresholds,
            }
            counted_frames {
                two_to_one,
            }
            counters {
                #[ignore = "long"]
                counters_are_those_of_other_tables,
                marks_add_up,
                #[ignore = "long"]
                storms_are_counted,
                tables_are_left_out,
                watermarks_are_exact,
            }
            deadlock {
                a_deadlock_without_refreshes,
                a_passing_cycle,
                #[ignore = "long"]
                a_queue_is_tested_when_its_pause_is_renewed,
                #[ignore = "long"]
                cycles_of_short_pauses,
                #[ignore = "long"]
                figure_16,
                #[ignore = "long"]
                insurance_that_stays,
                #[ignore = "long"]
                of_ports,
                #[ignore = "long"]
                pauses_without_a_cycle,
                under_dsh,
            }
            device_queue {
                order,
                #[ignore = "long"]
                what_sees_queues,
            }
            distributions {
                a_port,
                a_queue_that_drains,
                one_pause,
                queues_and_those_who_do_not_ask,
                queues_of_a_port,
            }
            explain {
                collision,
                deadlock,
                dropped_by_a_watchdog,
                incast,
                loss,
                nothing_sent,
                one_queue,
                short_headroom,
                slow_sender,
                slow_wire,
                storm,
                victim,
            }
            faults {
                a_link_that_flaps,
                a_link_that_is_down,
                a_slower_port,
                all_at_once,
                damage_is_recovered,
                delays_are_added,
                documented_example,
                jitter_keeps_the_order,
                losses_in_a_span,
                no_route_is_left,
                random_damage,
                routes_around_a_dead_link,
            }
            flow_queues {
                deadlock,
                paused_together_128,
                paused_together_32,
                short_flows_do_not_wait,
                two_priorities,
            }
            flow_trace {
                a_trace_has_a_bound,
                dcqcn_cuts_by_half_of_alpha,
                dctcp_cuts_by_half_of_alpha,
            }
            go_back_n {
                cnp_loss,
                last_packet_loss,
                nak_loss,
                a_frame_in_a_thousand_is_lost = random_loss("0.001"),
                a_frame_in_a_hundred_is_lost = random_loss("0.01"),
                single_ack_loss,
                single_data_loss,
                total_loss,
            }
            joint_deadlock {
                a_ring_with_long_links,
                #[ignore = "long"]
                queues_and_classes,
            }
            link_delay {
                by_hand,
                link_that_does_not_answer,
                #[ignore = "long"]
                lost_frames,
                under_load,
            }
            link_priorities {
                rows_add_up_to_the_links,
            }
            lossy {
                a_pool_of_their_own,
                beneath_bfc,
                first_round_trips,
                #[ignore = "long"]
                thresholds_are_what_formulas_say,
            }
            lost_resumes {
                a_link_that_goes_down_ends_pauses,
                a_lost_resume_is_named,
                pauses_of_flows_have_rows,
            }
            measures {
                link_bytes_are_what_switches_sent,
                #[ignore = "long"]
                links_carry_what_arrived,
                occupancy_is_how_long_packets_stayed,
                #[ignore = "long"]
                pause_time_is_what_senders_received,
                samples_are_changes,
                sizes_group_the_flows,
                #[ignore = "long"]
                throughput_is_what_arrived,
            }
            multipath {
                parallel_links,
                parallel_links_are_exact,
                parallel_links_deadlock,
                parallel_links_fail_apart,
                parallel_links_pause,
            }
            ofc {
                #[ignore = "long"]
                a_flow_passes_paused_ones,
                #[ignore = "long"]
                beside_other_priorities,
                #[ignore = "long"]
                measures_distinguish_congested_flows,
                #[ignore = "long"]
                more_flows_than_entries,
            }
            pause {
                lost_pause,
                lost_resume,
                #[ignore = "long"]
                obeyed_at_once,
                quanta_expire,
                quanta_expire_without_headroom,
                refreshed_while_congested,
                #[ignore = "long"]
                response_time,
                through_a_fabric,
            }
            pause_threshold {
                #[ignore = "long"]
                idle_time,
            }
            pfc_family {
                low_priorities_pause_first,
                #[ignore = "long"]
                old_slopes_hold_nobody_back,
                predictions_come_early,
                #[ignore = "long"]
                rates_instead_of_pauses,
                #[ignore = "long"]
                rules_pause_at_their_own_threshold,
                switches_obey_rates,
                the_egress_queue_decides,
                the_fastest_links_are_not_slowed_for_good,
            }
            port_rates {
                #[ignore = "long"]
                alpha,
                #[ignore = "long"]
                marking,
            }
            priorities {
                #[ignore = "long"]
                all_eight_lossless,
                control_priority,
                dwrr_scheduler,
                lossy_never_pauses,
                no_lossless_class,
                pause_stops_only_acks_of_its_class,
                pause_stops_only_its_class,
                several_lossless,
                strict_scheduler,
            }
            private_fill {
                walked,
            }
            refusal {
                #[ignore = "long"]
                a_pause_is_renewed_in_time,
                #[ignore = "long"]
                a_queue_without_headroom_pauses,
            }
            rings {
                a_lost_resume,
                #[ignore = "long"]
                flows_of_three_links,
                #[ignore = "long"]
                flows_of_two_links,
                #[ignore = "long"]
                rates,
            }
            schemes {
                flapping,
                #[ignore = "long"]
                oversubscribed,
                oversubscribed_by_queues,
                refreshed,
                stale,
                two_levels,
                #[ignore = "long"]
                without_insurance,
                without_shared_headroom,
            }
            selective_repeat {
                all_naks_lost,
                #[ignore = "long"]
                each_ack_loss,
                #[ignore = "long"]
                each_data_packet_loss,
                #[ignore = "long"]
                each_nak_loss,
                a_data_packet_in_a_thousand_is_lost = random_data_loss("0.001"),
                a_data_packet_in_a_hundred_is_lost = random_data_loss("0.01"),
                a_data_packet_in_twenty_is_lost = random_data_loss("0.05"),
                a_frame_in_a_thousand_is_lost = random_loss("0.001"),
                a_frame_in_a_hundred_is_lost = random_loss("0.01"),
                a_frame_in_twenty_is_lost = random_loss("0.05"),
                tail_loss,
                #[ignore = "long"]
                without_loss,
            }
            shapes {
                custom_topology_and_flow_list,
                ended_by_its_duration,
                extreme_settings,
                incast_of_16,
                star_of_256_ports,
                unfinished,
            }
            simulator_files {
                columns_agree_with_tables,
                histograms_count_every_look,
            }
            spfc {
                a_storm_at_a_victims_receiver,
                an_end_of_a_period_in_silence_is_sampled,
                beside_dsh,
                equal_shares,
                others_have_no_states,
                ports_of_unequal_rate,
                thresholds_are_sampled,
                victims_are_spared,
                victims_that_pause,
            }
            static_routes {
                asymmetric_paths,
                asymmetric_paths_are_exact,
                deadlock_ring,
                listed_paths_and_ports,
            }
            storm {
                books_close_under_every_scheme,
                breaks_deadlocks,
                drops,
                drops_what_comes_from_the_storm,
                forwards,
                forwards_in_spite_of_pauses_alone,
                lasts_until_the_end,
                short_storms_are_pauses,
                spreads_upstream,
            }
            switch_buffers {
                a_leaf_with_less_buffer,
            }
            table_formats {
                formats_agree,
            }
            tcp {
                beside_roce,
                each_ack_loss,
                each_segment_loss,
                first_round_trip,
                marks,
                tail_loss,
                telemetry,
                without_loss,
            }
            telemetry {
                each_hop_stamps_until_the_room_is_used_up,
                stamps_report_what_the_wires_show,
            }
            waiting {
                packets_in_the_queue_of_another_priority,
            }
            window {
                a_run_ends_with_the_flows_of_its_window,
                a_window_does_not_depend_on_what_comes_after,
                a_window_without_flows_is_not_what_was_asked_for,
                pauses_count_while_they_last_in_the_window,
            }
        }
    };
}

/// Makes a module for each subject, and in it a test for each function.
#[macro_export]
macro_rules! scenario_tests_of_modules {
    ($run:path; $($module:ident {
        $($(#[$attribute:meta])* $test:ident $(= $function:ident($($argument:expr),+))?),+ $(,)?
    })+) => {
        $(mod $module {
            $(#[test]
            $(#[$attribute])*
            fn $test() {
                $crate::scenario_test!($run, $module, $test $(= $function, $($argument),+)?);
            })+
        })+
    };
}

/// Calls the function of a scenario test.
#[macro_export]
macro_rules! scenario_test {
    ($run:path, $module:ident, $test:ident) => {
        $crate::fabric::$module::$test($run)
    };
    ($run:path, $module:ident, $test:ident = $function:ident, $($argument:expr),+) => {
        $crate::fabric::$module::$function($run, $($argument),+)
    };
}
